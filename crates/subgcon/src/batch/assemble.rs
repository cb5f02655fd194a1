//! Contexts of some nodes, put together as a batch.

use hashbrown::hash_map::{Entry, HashMap};

use super::{Arcs, Batch, Lists, Members, Propagation, Units};
use crate::config::{EncoderKind, EncoderSettings, ReadoutKind, ReadoutSettings};
use crate::context::{BitRows, Contexts, MAX_BIT_SIZE};
use crate::graph::{Adjacency, Features};
use crate::rng::mix;
use crate::transform::{Mask, Transform};

/// What is hidden in one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Augmentation {
    /// Mask of the features that centers are made from.
    pub centers: Option<Mask>,
    /// Mask of the features that summaries are made from. Where it differs from that of
    /// the centers, every context is encoded twice.
    pub summaries: Option<Mask>,
    /// Probability of an edge to be left out.
    pub drop_edges: f64,
    /// With an edge and its context it decides.
    pub edge_key: u64,
}

impl Augmentation {
    /// Nothing is hidden.
    pub const NONE: Augmentation =
        Augmentation { centers: None, summaries: None, drop_edges: 0.0, edge_key: 0 };
}

/// Puts batches together. A batch is a function of its nodes and the augmentation.
#[derive(Debug, Clone, Copy)]
pub struct Assembler<'a> {
    adjacency: &'a Adjacency,
    features: &'a Features,
    contexts: &'a Contexts,
    transform: &'a Transform,
    propagation: Propagation,
    readout: &'a ReadoutSettings,
}

/// Distinct pairs of node and role, in the order in which they were first met.
struct UnitIndex {
    numbers: HashMap<(u32, Role), u32>,
    nodes: Vec<u32>,
    masks: Vec<Option<Mask>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Role {
    Summary,
    Center,
}

impl UnitIndex {
    fn with_room(nodes: usize) -> UnitIndex {
        UnitIndex {
            numbers: HashMap::with_capacity(nodes),
            nodes: Vec::with_capacity(nodes),
            masks: Vec::with_capacity(nodes),
        }
    }

    fn number(&mut self, node: u32, role: Role, mask: Option<Mask>) -> u32 {
        match self.numbers.entry((node, role)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                self.nodes.push(node);
                self.masks.push(mask);
                *new.insert(self.nodes.len() as u32 - 1)
            }
        }
    }
}

/// Arcs of rows that are being filled.
struct ArcRows {
    arcs: Arcs<f32>,
    of_row: Vec<u32>,
    pieces: Vec<u32>,
}

impl<'a> Assembler<'a> {
    /// For an encoder of a kind. Contexts have a row for each node of the graph.
    pub fn new(
        adjacency: &'a Adjacency,
        features: &'a Features,
        contexts: &'a Contexts,
        transform: &'a Transform,
        encoder: EncoderKind,
        readout: &'a ReadoutSettings,
    ) -> Assembler<'a> {
        assert_eq!(contexts.rows(), adjacency.nodes(), "a context for every node");
        assert_eq!(features.nodes(), adjacency.nodes(), "features of every node");
        let propagation = encoder.propagation();
        assert!(
            propagation == Propagation::None || contexts.bits != BitRows::None,
            "settings were checked: no propagation over contexts without adjacency"
        );
        Assembler { adjacency, features, contexts, transform, propagation, readout }
    }

    /// The batch of the contexts of `nodes`.
    pub fn batch(&self, nodes: &[u32], augmentation: &Augmentation) -> Batch<f32> {
        let twice = augmentation.centers != augmentation.summaries;
        match self.propagation {
            Propagation::None => self.without_arcs(nodes, augmentation, twice),
            _ => self.with_arcs(nodes, augmentation, twice),
        }
    }

    /// The same, rows that the encoder cannot tell apart made once where that pays.
    pub fn batch_for(
        &self,
        encoder: &EncoderSettings,
        nodes: &[u32],
        augmentation: &Augmentation,
    ) -> Batch<f32> {
        let batch = self.batch(nodes, augmentation);
        if encoder.wants_distinct_rows() { batch.distinct() } else { batch }
    }

    /// Centers alone, each in a context of its own: all that an encoder without
    /// propagation needs to embed a node. `nodes` are different.
    pub fn lone_centers(&self, nodes: &[u32]) -> Batch<f32> {
        assert!(self.propagation == Propagation::None, "propagation needs the context");
        let rows: Vec<u32> = (0..nodes.len() as u32).collect();
        Batch {
            nodes: nodes.to_vec(),
            inputs: self.transform.inputs(self.features, nodes, &vec![None; nodes.len()]),
            units: Units::Same,
            pieces: vec![0, nodes.len() as u32],
            arcs: Arcs::default(),
            centers: rows.clone(),
            members: Members {
                offsets: (0..=nodes.len() as u32).collect(),
                rows,
                weights: vec![1.0; nodes.len()],
            },
        }
    }

    fn without_arcs(&self, nodes: &[u32], augmentation: &Augmentation, twice: bool) -> Batch<f32> {
        let mut units = UnitIndex::with_room(nodes.len() * self.contexts.size / 2);
        let mut members = Members::default();
        members.offsets.push(0);
        let mut centers = Vec::with_capacity(nodes.len());
        let mut rows = Vec::new();
        for &node in nodes {
            let context = self.contexts.nodes(node as usize);
            rows.clear();
            rows.extend(
                context
                    .iter()
                    .map(|&member| units.number(member, Role::Summary, augmentation.summaries)),
            );
            self.add_members(&mut members, node, &rows);
            centers.push(match twice {
                true => units.number(node, Role::Center, augmentation.centers),
                false => rows[0],
            });
        }
        let inputs = self.transform.inputs(self.features, &units.nodes, &units.masks);
        Batch {
            nodes: nodes.to_vec(),
            pieces: vec![0, units.nodes.len() as u32],
            inputs,
            units: Units::Same,
            arcs: Arcs::default(),
            centers,
            members,
        }
    }

    fn with_arcs(&self, nodes: &[u32], augmentation: &Augmentation, twice: bool) -> Batch<f32> {
        let most = nodes.len() * self.contexts.size;
        let mut units = UnitIndex::with_room(most / 2);
        let mut filling = ArcRows {
            arcs: Arcs {
                offsets: Vec::with_capacity(most + 1),
                symmetric: !self.adjacency.directed,
                ..Arcs::default()
            },
            of_row: Vec::with_capacity(most),
            pieces: Vec::with_capacity(nodes.len() + 1),
        };
        filling.arcs.offsets.push(0);
        filling.pieces.push(0);
        let mut members = Members::default();
        members.offsets.push(0);
        let mut centers = Vec::with_capacity(nodes.len());
        let mut rows = Vec::new();
        for &node in nodes {
            let first = filling.of_row.len() as u32;
            let role = (Role::Summary, augmentation.summaries);
            let count = self.add_piece(&mut filling, &mut units, node, role, augmentation);
            rows.clear();
            rows.extend(first..first + count);
            self.add_members(&mut members, node, &rows);
            centers.push(first);
        }
        if twice {
            for (&node, center) in nodes.iter().zip(&mut centers) {
                *center = filling.of_row.len() as u32;
                let role = (Role::Center, augmentation.centers);
                self.add_piece(&mut filling, &mut units, node, role, augmentation);
            }
        }
        let shown = rows_of_units(units.nodes.len(), &filling.of_row);
        let inputs = self.transform.inputs(self.features, &units.nodes, &units.masks);
        Batch {
            nodes: nodes.to_vec(),
            inputs,
            units: Units::Shown { of_row: filling.of_row, rows: shown },
            pieces: filling.pieces,
            arcs: filling.arcs,
            centers,
            members,
        }
    }

    /// One subgraph; returns its number of rows.
    fn add_piece(
        &self,
        filling: &mut ArcRows,
        units: &mut UnitIndex,
        center: u32,
        (role, mask): (Role, Option<Mask>),
        augmentation: &Augmentation,
    ) -> u32 {
        let context = self.contexts.nodes(center as usize);
        let first = filling.of_row.len() as u32;
        filling.of_row.extend(context.iter().map(|&node| units.number(node, role, mask)));
        let mut words = [0u64; MAX_BIT_SIZE];
        self.bits(center, context, augmentation, &mut words);
        // What a row sums to: D̂, or nothing of interest.
        let mut scale = [0f32; MAX_BIT_SIZE];
        if self.propagation == Propagation::Normalized {
            for (a, scale) in scale[..context.len()].iter_mut().enumerate() {
                let sum: f32 = match self.adjacency.weights {
                    None => words[a].count_ones() as f32,
                    Some(_) => ones(words[a]).map(|b| self.weight(context[a], context[b])).sum(),
                };
                *scale = 1.0 / (1.0 + sum).sqrt();
            }
        }
        let unweighted = self.adjacency.weights.is_none();
        for a in 0..context.len() {
            let with_self = if self.propagation == Propagation::Plain { 0 } else { 1 << a };
            for b in ones(words[a] | with_self) {
                let weight = match unweighted || a == b {
                    true => 1.0,
                    false => self.weight(context[a], context[b]),
                };
                filling.arcs.heads.push(first + b as u32);
                filling.arcs.weights.push(match self.propagation {
                    Propagation::Normalized => weight * scale[a] * scale[b],
                    _ => weight,
                });
            }
            filling.arcs.offsets.push(filling.arcs.heads.len() as u32);
        }
        filling.pieces.push(filling.of_row.len() as u32);
        context.len() as u32
    }

    /// The induced adjacency, less the edges that are left out in this step.
    fn bits(&self, center: u32, context: &[u32], augmentation: &Augmentation, words: &mut [u64]) {
        let start = center as usize * self.contexts.size;
        match &self.contexts.bits {
            BitRows::None => {}
            BitRows::Words32(all) => {
                let all = &all[start..start + context.len()];
                words.iter_mut().zip(all).for_each(|(word, &bits)| *word = u64::from(bits));
            }
            BitRows::Words64(all) => {
                words[..context.len()].copy_from_slice(&all[start..start + context.len()]);
            }
        }
        if augmentation.drop_edges > 0.0 {
            let key = mix(augmentation.edge_key ^ u64::from(center));
            let dropped = |from: u32, to: u32| {
                // Both directions of an undirected edge go together.
                let (from, to) =
                    if self.adjacency.directed { (from, to) } else { (from.min(to), from.max(to)) };
                let drawn = mix(key ^ (u64::from(from) << 32 | u64::from(to)));
                (drawn as f64) < augmentation.drop_edges * (u64::MAX as f64)
            };
            for (a, word) in words[..context.len()].iter_mut().enumerate() {
                for b in ones(*word) {
                    if dropped(context[a], context[b]) {
                        *word &= !(1 << b);
                    }
                }
            }
        }
    }

    fn weight(&self, from: u32, to: u32) -> f32 {
        match self.adjacency.weights(from) {
            None => 1.0,
            Some(weights) => match self.adjacency.neighbours(from).binary_search(&to) {
                Ok(at) => weights[at],
                Err(_) => unreachable!("the arc {from} to {to} is in the context's bits"),
            },
        }
    }

    /// The summary of a context, whose nodes are these rows of the batch.
    fn add_members(&self, members: &mut Members<f32>, node: u32, rows: &[u32]) {
        let left_out = usize::from(!self.readout.center && rows.len() > 1);
        let pagerank = &self.contexts.pagerank(node as usize)[left_out..];
        let rows = &rows[left_out..];
        members.rows.extend_from_slice(rows);
        match self.readout.kind {
            ReadoutKind::Mean => {
                members.weights.extend(rows.iter().map(|_| 1.0 / rows.len() as f32));
            }
            ReadoutKind::Sum | ReadoutKind::Max => members.weights.extend(rows.iter().map(|_| 1.0)),
            ReadoutKind::Mass => {
                let mass: f32 = pagerank.iter().sum();
                members.weights.extend(pagerank.iter().map(|share| match mass > 0.0 {
                    true => share / mass,
                    false => 1.0 / rows.len() as f32,
                }));
            }
        }
        members.offsets.push(members.rows.len() as u32);
    }
}

/// Places of the bits that are set, rising.
fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = word.trailing_zeros() as usize;
        (word != 0).then(|| {
            word &= word - 1;
            place
        })
    })
}

/// The rows that show each unit, rising.
pub(super) fn rows_of_units(units: usize, of_row: &[u32]) -> Lists {
    let mut offsets = vec![0u32; units + 1];
    of_row.iter().for_each(|&unit| offsets[unit as usize + 1] += 1);
    (0..units).for_each(|unit| offsets[unit + 1] += offsets[unit]);
    let mut next = offsets.clone();
    let mut items = vec![0; of_row.len()];
    for (row, &unit) in of_row.iter().enumerate() {
        let place = &mut next[unit as usize];
        items[*place as usize] = row as u32;
        *place += 1;
    }
    Lists { offsets, items }
}
