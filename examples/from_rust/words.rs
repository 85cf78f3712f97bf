//! Calls a SavedModel from Rust.
//!
//!     rustc --edition 2021 words.rs $(pkg-config --libs treadle) && ./words ../words
mod c;
mod floats;
mod model;

use floats::Floats;
use model::Model;

fn run(path: &str) -> Result<(), String> {
    let model = Model::load(path)?;
    for signature in model.signatures() {
        println!("{signature}");
    }
    let x = Floats::new(&[1.0, 2.0, 3.0])?;
    let y = model.call("serving_default", "x", &x, "scaled")?;
    println!("{:?}", y.as_slice());
    Ok(())
}

fn main() {
    let path = std::env::args().nth(1).unwrap_or_else(|| {
        eprintln!("usage: words MODEL");
        std::process::exit(2)
    });
    if let Err(message) = run(&path) {
        eprintln!("{message}");
        std::process::exit(1);
    }
}
