//! Which contexts are trained on, and which are held out.

use std::collections::BTreeSet;

use crate::config::TrainingSettings;
use crate::error::{Error, Result};
use crate::rng::Stream;

/// The contexts that batches are drawn from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pool {
    /// Nodes of the graph.
    nodes: u32,
    /// Not drawn, rising.
    pub(super) held_out: Vec<u32>,
    /// The only ones drawn, rising; all but the held-out ones where there are none.
    chosen: Option<Vec<u32>>,
}

impl Pool {
    /// Draws what is held out and, where asked for, the few that are trained on.
    pub(super) fn new(settings: &TrainingSettings, nodes: u32, seed: u64) -> Result<Pool> {
        if nodes < 2 {
            return Err(Error::setting("nodes", nodes, "a context needs another to be told from"));
        }
        if settings.held_out as u64 + 2 > u64::from(nodes) {
            return Err(Error::setting(
                "training.held_out",
                settings.held_out,
                format!("the graph has {nodes} nodes, and two contexts must stay; hold out fewer"),
            ));
        }
        let left = nodes - settings.held_out as u32;
        if let Some(subgraphs) = settings.subgraphs.filter(|&wanted| wanted > left as usize) {
            return Err(Error::setting(
                "training.subgraphs",
                subgraphs,
                format!("there are {left} contexts to train on; choose at most that many"),
            ));
        }
        let mut stream = Stream::new(seed, "held out", 0);
        let held_out = distinct(settings.held_out, nodes, &mut stream).into_iter().collect();
        let mut pool = Pool { nodes, held_out, chosen: None };
        if let Some(subgraphs) = settings.subgraphs {
            let places = distinct(subgraphs, left, &mut Stream::new(seed, "subgraphs", 0));
            pool.chosen = Some(places.into_iter().map(|place| pool.node(place)).collect());
        }
        Ok(pool)
    }

    /// Number of contexts to draw from.
    pub(super) fn len(&self) -> u32 {
        match &self.chosen {
            Some(chosen) => chosen.len() as u32,
            None => self.nodes - self.held_out.len() as u32,
        }
    }

    fn node(&self, place: u32) -> u32 {
        if let Some(chosen) = &self.chosen {
            return chosen[place as usize];
        }
        // The place-th node that is not held out: held_out[k] − k rises, and counts
        // the nodes before it that are not.
        let (mut low, mut high) = (0, self.held_out.len());
        while low < high {
            let middle = (low + high) / 2;
            match self.held_out[middle] - middle as u32 <= place {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        place + low as u32
    }

    /// Different nodes: `batch` of them, or all where there are fewer.
    pub(super) fn draw(&self, batch: usize, stream: &mut Stream) -> Vec<u32> {
        let batch = batch.min(self.len() as usize);
        distinct(batch, self.len(), stream).into_iter().map(|place| self.node(place)).collect()
    }
}

/// `count` different numbers below `bound`, every set equally likely, rising (Floyd's
/// way: no list of all numbers). What follows does not look at the order.
fn distinct(count: usize, bound: u32, stream: &mut Stream) -> BTreeSet<u32> {
    let mut drawn = BTreeSet::new();
    for last in u64::from(bound) - count as u64..u64::from(bound) {
        if !drawn.insert(stream.below(last + 1) as u32) {
            drawn.insert(last as u32);
        }
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_out_nodes_are_never_drawn_and_all_others_are() {
        let settings = TrainingSettings { held_out: 30, ..Default::default() };
        let pool = Pool::new(&settings, 100, 3).unwrap();
        assert_eq!((pool.held_out.len(), pool.len()), (30, 70));
        let all = pool.draw(500, &mut Stream::new(1, "batch", 0));
        let mut both: Vec<u32> = all.iter().chain(&pool.held_out).copied().collect();
        both.sort_unstable();
        assert_eq!(both, (0..100).collect::<Vec<u32>>());
    }

    #[test]
    fn draws_are_different_nodes_and_uniform() {
        let pool = Pool::new(&TrainingSettings::default(), 20, 3).unwrap();
        let mut counts = [0u32; 20];
        for index in 0..4000 {
            let drawn = pool.draw(5, &mut Stream::new(1, "batch", index));
            assert_eq!(drawn.iter().collect::<BTreeSet<_>>().len(), 5);
            drawn.iter().for_each(|&node| counts[node as usize] += 1);
        }
        // 1,000 each; the standard deviation is 27.
        assert!(counts.iter().all(|&count| (870..1130).contains(&count)), "{counts:?}");
    }

    #[test]
    fn a_few_subgraphs_are_the_only_ones_drawn() {
        let settings = TrainingSettings { subgraphs: Some(7), held_out: 10, ..Default::default() };
        let pool = Pool::new(&settings, 50, 9).unwrap();
        let drawn: BTreeSet<u32> =
            (0..50).flat_map(|index| pool.draw(3, &mut Stream::new(1, "batch", index))).collect();
        assert_eq!(drawn.len(), 7);
        assert!(drawn.iter().all(|node| !pool.held_out.contains(node)));
    }

    #[test]
    fn more_than_there_are_is_refused() {
        let settings = TrainingSettings { subgraphs: Some(41), held_out: 10, ..Default::default() };
        let text = Pool::new(&settings, 50, 9).unwrap_err().to_string();
        assert!(text.starts_with("training.subgraphs = 41: there are 40 contexts"), "{text}");
        let settings = TrainingSettings { held_out: 49, ..Default::default() };
        let text = Pool::new(&settings, 50, 9).unwrap_err().to_string();
        assert!(text.starts_with("training.held_out = 49: the graph has 50 nodes"), "{text}");
    }
}
