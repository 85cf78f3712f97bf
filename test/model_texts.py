"""SavedModels in text, written down in a test."""


def variable_model(extra, outputs, folder):
    """A SavedModel with the variable `v`, which `init` sets to 10, and a signature of its own.

    `extra` are more nodes, `outputs` what the signature `serving_default` gives.
    """
    types = 'attr { key: "dtype" value { type: DT_INT32 } }'
    nodes = f"""
  node {{ name: "x" op: "Placeholder" {types} attr {{ key: "shape" value {{ shape {{ }} }} }} }}
  node {{ name: "v" op: "VarHandleOp" {types} attr {{ key: "shape" value {{ shape {{ }} }} }}
         attr {{ key: "shared_name" value {{ s: "v" }} }} }}
  node {{ name: "ten" op: "Const" {types} attr {{ key: "value" value {{ tensor {{
         dtype: DT_INT32 tensor_shape {{ }} int_val: 10 }} }} }} }}
  node {{ name: "init" op: "AssignVariableOp" input: "v" input: "ten" {types} }}
  node {{ name: "read" op: "ReadVariableOp" input: "v" {types} }}
  {extra.replace("TYPES", types)}
"""

    def tensor(key, name, dtype="DT_INT32"):
        return f'{{ key: "{key}" value {{ name: "{name}" dtype: {dtype} }} }}'

    given = " ".join("outputs " + tensor(key, name) for key, name in outputs.items())
    init = "__saved_model_init_op"
    folder.mkdir()
    (folder / "saved_model.pbtxt").write_text(f"""
saved_model_schema_version: 1
meta_graphs {{
  meta_info_def {{ tags: "serve" }}
  graph_def {{ {nodes} versions {{ producer: 1882 }} }}
  signature_def {{ key: "serving_default" value {{
    inputs {tensor("x", "x:0")} {given} method_name: "tensorflow/serving/predict" }} }}
  signature_def {{ key: "{init}" value {{ outputs {tensor(init, "init", "DT_INVALID")} }} }}
}}
""")
    return folder
