//! `rag ask` with a model: our guarantees whatever the model says.
