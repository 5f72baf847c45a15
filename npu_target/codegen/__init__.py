"""Between TensorIR and commands: operations, their dependences, and where they are placed."""
