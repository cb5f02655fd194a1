//! Checking a store in full: every checksum, every invariant.
//!
//! Costs a few passes over all files, none of them in random order: that an
//! undirected graph is symmetric is told by two sums of hashes, over the arcs
//! that rise and over those that fall, turned round. Only where they differ is
//! the arc that stands alone looked for.

use rayon::prelude::*;

use super::damaged;
use super::ids::read_ids;
use super::manifest::{FeatureStorage, Manifest};
use super::names;
use super::open::Store;
use crate::error::Result;
use crate::graph::{Features, Ids, count_roles};
use crate::io::array_file::checksum;
use crate::progress::Progress;

impl Store {
    /// Checks every checksum and invariant; the error names the first that fails.
    pub fn verify(&self, progress: &dyn Progress) -> Result<()> {
        let total = self.manifest().arrays.values().map(|entry| entry.bytes).sum();
        progress.begin("checking files", total, "bytes");
        for (name, entry) in &self.manifest().arrays {
            let path = self.root().join(name);
            let found = checksum(&path)?;
            if found != *entry {
                let problem = format!(
                    "was changed: its checksum is {}…, the manifest says {}…",
                    &found.blake3[..16],
                    entry.blake3.get(..16).unwrap_or(&entry.blake3)
                );
                return Err(damaged(&path, problem));
            }
            progress.advance(entry.bytes);
        }
        progress.end();
        self.verify_manifest()?;
        progress.begin("checking contents", 0, "parts");
        self.verify_contents()?;
        progress.end();
        Ok(())
    }

    /// Checks what the arrays hold, whatever their checksums.
    pub fn verify_contents(&self) -> Result<()> {
        self.verify_adjacency()?;
        self.verify_features()?;
        self.verify_labels()?;
        self.verify_splits()?;
        let path = self.root().join(names::IDS);
        let ids = read_ids(&path, &self.manifest().ids, self.manifest().nodes)?;
        if matches!(ids, Ids::Range(_)) != self.manifest().ids.contiguous {
            return Err(damaged(&path, "its ids are not as contiguous as the manifest says"));
        }
        match ids.index() {
            Ok(_) => Ok(()),
            Err(duplicate) => {
                Err(damaged(&path, format!("two nodes have the id {}", duplicate.id)))
            }
        }
    }

    fn verify_manifest(&self) -> Result<()> {
        let manifest = self.manifest();
        let path = self.root().join(names::MANIFEST);
        let fingerprint =
            Manifest::structure_fingerprint(manifest.nodes, manifest.directed, &manifest.arrays);
        if manifest.fingerprint != fingerprint {
            return Err(damaged(&path, "the fingerprint is not that of the arrays"));
        }
        let listed: Vec<&str> = manifest.arrays.keys().map(String::as_str).collect();
        let mut implied = vec![names::IDS, names::NEIGHBOURS, names::OFFSETS];
        implied.extend(manifest.weighted.then_some(names::WEIGHTS));
        implied.extend(manifest.labels.as_ref().map(|_| names::LABELS));
        implied.extend((!manifest.splits.is_empty()).then_some(names::SPLITS));
        match manifest.features.as_ref().map(|entry| entry.storage) {
            None => {}
            Some(FeatureStorage::Dense) => implied.push(names::FEATURES),
            Some(FeatureStorage::Sparse) => implied.extend([
                names::FEATURE_OFFSETS,
                names::FEATURE_COLUMNS,
                names::FEATURE_VALUES,
            ]),
        }
        implied.sort_unstable();
        if listed != implied {
            let problem =
                format!("lists {} and describes {}", listed.join(", "), implied.join(", "));
            return Err(damaged(&path, problem));
        }
        if manifest.edges != self.adjacency()?.edges() {
            return Err(damaged(&path, format!("edges: {} is not half the arcs", manifest.edges)));
        }
        Ok(())
    }

    fn verify_adjacency(&self) -> Result<()> {
        let adjacency = self.adjacency()?;
        let nodes = adjacency.nodes();
        let path = self.root().join(names::NEIGHBOURS);
        (0..nodes as u32).into_par_iter().with_min_len(1 << 12).try_for_each(|node| {
            let list = adjacency.neighbours(node);
            if !list.is_sorted_by(|a, b| a < b) || list.binary_search(&node).is_ok() {
                let problem = format!("the list of node {node} does not rise or contains the node");
                return Err(damaged(&path, problem));
            }
            Ok(())
        })?;
        if let Some(weights) = &adjacency.weights {
            let path = self.root().join(names::WEIGHTS);
            let bad = weights.par_iter().position_first(|w| !(w.is_finite() && *w > 0.0));
            if let Some(arc) = bad {
                return Err(damaged(&path, format!("weight {} of arc {arc}", weights[arc])));
            }
        }
        if !adjacency.directed {
            self.verify_symmetry(&path)?;
        }
        Ok(())
    }

    fn verify_symmetry(&self, path: &std::path::Path) -> Result<()> {
        let adjacency = self.adjacency()?;
        let sums = |node: u32| {
            let weights = adjacency.weights(node);
            let mut sums = [0u128; 2];
            for (place, &other) in adjacency.neighbours(node).iter().enumerate() {
                let weight = weights.map_or(0, |weights| weights[place].to_bits());
                let falls = usize::from(other < node);
                let hash = arc_hash(node.min(other), node.max(other), weight);
                sums[falls] = sums[falls].wrapping_add(hash);
            }
            sums
        };
        let add = |a: [u128; 2], b: [u128; 2]| [a[0].wrapping_add(b[0]), a[1].wrapping_add(b[1])];
        let nodes = (0..adjacency.nodes() as u32).into_par_iter().with_min_len(1 << 12);
        let [rising, falling] = nodes.map(sums).reduce(|| [0; 2], add);
        if rising == falling {
            return Ok(());
        }
        let weight = |node: u32, place: usize| adjacency.weights(node).map(|w| w[place]);
        for node in 0..adjacency.nodes() as u32 {
            for (place, &other) in adjacency.neighbours(node).iter().enumerate() {
                let back = adjacency.neighbours(other).binary_search(&node);
                if back.is_err() {
                    return Err(damaged(path, format!("arc {node} to {other} goes one way only")));
                }
                if back.is_ok_and(|back| weight(other, back) != weight(node, place)) {
                    let problem = format!("edge {node} to {other} has two weights");
                    return Err(damaged(&self.root().join(names::WEIGHTS), problem));
                }
            }
        }
        Ok(())
    }

    fn verify_features(&self) -> Result<()> {
        let (Some(features), Some(entry)) = (self.features()?, &self.manifest().features) else {
            return Ok(());
        };
        match features {
            Features::Dense { width, values } => {
                let path = self.root().join(names::FEATURES);
                if let Some(place) = values.par_iter().position_first(|x| !x.is_finite()) {
                    let (row, column) = (place / width, place % width);
                    return Err(damaged(
                        &path,
                        format!("row {row}, column {column} is not finite"),
                    ));
                }
            }
            Features::Sparse(matrix) => {
                let path = self.root().join(names::FEATURE_COLUMNS);
                for row in 0..matrix.rows() {
                    let (columns, values) = matrix.row(row);
                    if !columns.is_sorted_by(|a, b| a < b) {
                        return Err(damaged(&path, format!("columns of row {row} do not rise")));
                    }
                    if values.iter().any(|x| !x.is_finite() || *x == 0.0) {
                        let path = self.root().join(names::FEATURE_VALUES);
                        return Err(damaged(&path, format!("row {row} has a zero or no number")));
                    }
                }
            }
        }
        if features.nonzeros() != entry.nonzeros || features.zero_rows() != entry.zero_rows {
            let path = self.root().join(names::MANIFEST);
            return Err(damaged(&path, "its counts are not those of the features"));
        }
        Ok(())
    }

    fn verify_labels(&self) -> Result<()> {
        let (Some(labels), Some(entry)) = (self.labels()?, &self.manifest().labels) else {
            return Ok(());
        };
        let path = self.root().join(names::LABELS);
        if labels.class_sizes() != entry.sizes || labels.labelled() as u64 != entry.labelled {
            return Err(damaged(&path, "its counts are not those of the manifest"));
        }
        Ok(())
    }

    fn verify_splits(&self) -> Result<()> {
        let path = self.root().join(names::SPLITS);
        for (split, entry) in self.splits()?.iter().zip(&self.manifest().splits) {
            let counts = count_roles(&split.roles).map(|count| count as u64);
            if counts != [entry.train, entry.validation, entry.test] {
                return Err(damaged(&path, "its counts are not those of the manifest"));
            }
        }
        Ok(())
    }
}

/// Mixes an arc into 128 bits (two rounds of multiplication and folding).
fn arc_hash(low: u32, high: u32, weight: u32) -> u128 {
    let folded = |x: u64, multiplier: u64| {
        let product = u128::from(x) * u128::from(multiplier);
        (product >> 64) as u64 ^ product as u64
    };
    let arc = u64::from(low) << 32 | u64::from(high);
    let one = folded(arc ^ 0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93);
    let two = folded(one ^ u64::from(weight), 0xa076_1d64_78bd_642f);
    let three = folded(two ^ arc.rotate_left(32), 0xe703_7ed1_a0b4_28db);
    u128::from(two) << 64 | u128::from(three)
}
