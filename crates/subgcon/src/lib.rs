//! Node embeddings for large attributed graphs, learnt without labels.
//!
//! The pipeline, in order (what is not here yet is on the road, see
//! `ARCHITECTURE.md`):
//!
//! 1. A graph comes in from files ([`io::import`]) or is made
//!    ([`graph::generate`]) and lies in a store on disk ([`io::store`]), mapped
//!    rather than read.
//! 2. Every node gets a context: the nodes that matter to it ([`mod@context`],
//!    kept on disk by [`io::contexts`]).
//!
//! ```
//! use subgcon::context::ContextSettings;
//! use subgcon::graph::generate::Communities;
//! use subgcon::io::contexts::ContextTable;
//! use subgcon::io::store::{Store, StoreOptions, StoreWriter};
//! use subgcon::progress::Silent;
//!
//! # fn main() -> subgcon::Result<()> {
//! # let folder = std::env::temp_dir().join(format!("subgcon-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder).expect("a place to write");
//! let path = folder.join("demo.graph");
//! let mut writer = StoreWriter::create(&path, StoreOptions::default(), &Silent)?;
//! let origin = Communities::default().store(&mut writer)?;
//! writer.finish(origin)?;
//!
//! let store = Store::open(&path)?;
//! assert_eq!(store.manifest().nodes, 3000);
//! assert_eq!(store.features()?.map(|features| features.width()), Some(500));
//!
//! let table = ContextTable::sample(&store, &ContextSettings::default(), &Silent)?;
//! assert_eq!(table.contexts.nodes(7)[0], 7, "the centre comes first");
//! # std::fs::remove_dir_all(&folder).expect("it was written");
//! # Ok(())
//! # }
//! ```

pub mod batch;
pub mod config;
pub mod context;
pub mod contrast;
pub mod encoder;
pub mod error;
pub mod eval;
pub mod graph;
pub mod io;
pub mod math;
pub mod model;
pub mod progress;
pub mod rng;
pub mod train;
pub mod transform;

pub use error::{Error, Result};
