//! Generated graphs on their way into a store, block by block.

use rayon::prelude::*;

use crate::error::Result;
use crate::graph::generate::{Communities, FeatureBlock, FeatureKind, PowerLaw};
use crate::graph::{Ids, node_count};
use crate::io::store::{FeatureSink, Origin, StoreWriter};

/// Nodes whose features are drawn together.
const BLOCK: u32 = 4096;

impl PowerLaw {
    /// Draws the graph into a store.
    pub fn store(&self, store: &mut StoreWriter<'_>) -> Result<Origin> {
        let edges = self.edges(store.progress())?;
        store.topology(&Ids::Range(node_count(self.nodes)?), edges)?;
        let mut origin = Origin::new("powerlaw", [""; 0]);
        for (name, value) in [
            ("nodes", self.nodes.to_string()),
            ("edges", self.edges.to_string()),
            ("quadrants", self.quadrants.map(|q| q.to_string()).join(",")),
            ("seed", self.seed.to_string()),
        ] {
            origin.settings.insert(name.into(), value);
        }
        Ok(origin)
    }
}

impl Communities {
    /// Draws the graph into a store.
    pub fn store(&self, store: &mut StoreWriter<'_>) -> Result<Origin> {
        let nodes = node_count(self.nodes)?;
        let edges = self.edges(store.progress())?;
        store.topology(&Ids::Range(nodes), edges)?;
        let progress = store.progress();
        if !matches!(self.features, FeatureKind::None) {
            progress.begin("drawing features", nodes.into(), "nodes");
            store.features(self.features.width(), |sink| {
                // Waves of blocks: drawn by all threads, written in order.
                let starts: Vec<u32> = (0..nodes).step_by(BLOCK as usize).collect();
                for wave in starts.chunks(4 * rayon::current_num_threads()) {
                    let rows = |&start: &u32| self.feature_rows(start..nodes.min(start + BLOCK));
                    let blocks: Vec<FeatureBlock> = wave.par_iter().map(rows).collect();
                    blocks.iter().try_for_each(|block| write_block(block, sink))?;
                    progress.advance((wave.len() as u64 * u64::from(BLOCK)).min(nodes.into()));
                }
                Ok(())
            })?;
            progress.end();
        }
        store.labels(&self.labels())?;
        store.splits(&self.splits())?;
        let mut origin = Origin::new("communities", [""; 0]);
        for (name, value) in [
            ("nodes", self.nodes.to_string()),
            ("edges", self.edges.to_string()),
            ("classes", self.classes.to_string()),
            ("mixing", self.mixing.to_string()),
            ("degree-exponent", self.degree_exponent.to_string()),
            ("features", format!("{:?}", self.features)),
            ("splits", self.splits.to_string()),
            ("train-per-class", self.train_per_class.to_string()),
            ("validation-per-class", self.validation_per_class.to_string()),
            ("seed", self.seed.to_string()),
        ] {
            origin.settings.insert(name.into(), value);
        }
        Ok(origin)
    }
}

fn write_block(block: &FeatureBlock, sink: &mut FeatureSink) -> Result<()> {
    let written = match block {
        FeatureBlock::Dense(rows) => sink.dense(rows),
        FeatureBlock::Sparse { offsets, columns, values } => {
            offsets.windows(2).try_for_each(|pair| {
                let row = pair[0] as usize..pair[1] as usize;
                sink.sparse(&columns[row.clone()], &values[row])
            })
        }
    };
    written.map_err(|error| error.at(std::path::Path::new("generated features")))
}
