// Sorts of short rows are counted natively where the comparator's keys, read from its body, order
// all elements.
