//! How long does it take to open a store, and what can be asked of it at once?
//!
//! ```text
//! cargo run --release --example open_store -- mine.graph
//! ```
//!
//! Opening reads the manifest and maps the arrays; it does not read them, so it
//! takes the same time for a thousand nodes and for ten million.

use std::path::Path;
use std::time::Instant;

use subgcon::io::store::Store;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("name a store")?;
    let started = Instant::now();
    let store = Store::open(Path::new(&path))?;
    println!("opened in {:.3} ms", started.elapsed().as_secs_f64() * 1e3);

    // The first use of the adjacency makes sure that every number in it is a place.
    let started = Instant::now();
    let adjacency = store.adjacency()?;
    println!("checked in {:.3} ms", started.elapsed().as_secs_f64() * 1e3);
    println!("{} nodes, {} edges", adjacency.nodes(), adjacency.edges());
    println!("node 0 is {:?}, with {} neighbours", store.ids()?.text(0), adjacency.degree(0));
    Ok(())
}
