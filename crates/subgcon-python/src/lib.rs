//! The native half of the Python package: `subgcon._native`.
//!
//! A skin: it converts ([`arrays`]), lets other Python threads run and listens for Ctrl-C
//! ([`watch`]), and maps errors ([`errors`]). What a user sees is in `python/subgcon`.
//!
//! | file | its question |
//! | --- | --- |
//! | `graph` | how do arrays become a graph, and a graph arrays? |
//! | `parts` | what is a graph made of? |
//! | `ids` | how do Python's ids become ours? |
//! | `settings` | what do keywords ask for? |
//! | `widths` | how wide is each block of an embedding of so many columns? |
//! | `contexts` | which nodes matter to a node? |
//! | `model` | what is learnt, and what does it make of nodes? |
//! | `stores` | how do other programs' files and made-up graphs become stores? |
//! | `evaluate` | how good are embeddings? |

// PyO3 hands arguments over by value.
#![allow(clippy::needless_pass_by_value)]

mod arrays;
mod contexts;
mod errors;
mod evaluate;
mod graph;
mod ids;
mod model;
mod parts;
mod settings;
mod stores;
mod watch;
mod widths;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("SubgconError", module.py().get_type::<errors::SubgconError>())?;
    module.add_class::<graph::Graph>()?;
    module.add_class::<contexts::Contexts>()?;
    module.add_class::<model::Model>()?;
    module.add_function(wrap_pyfunction!(settings::resolve, module)?)?;
    module.add_function(wrap_pyfunction!(settings::to_toml, module)?)?;
    module.add_function(wrap_pyfunction!(model::train, module)?)?;
    module.add_function(wrap_pyfunction!(stores::import_files, module)?)?;
    module.add_function(wrap_pyfunction!(stores::generate, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::evaluate, module)?)?;
    Ok(())
}
