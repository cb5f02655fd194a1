//! A graph with planted classes: what learning without labels should find.
//!
//! The degree-corrected planted partition (Karrer and Newman 2011): k
//! communities of equal size are the classes. An edge starts at a node drawn
//! by its weight, and with probability 1 - mixing ends in the same community,
//! else in another, again by weight. Weights are a power law of the node's rank
//! in its community, in closed form, so a graph of any size needs no table.

use std::ops::Range;

use rayon::prelude::*;

use super::endpoints::Endpoints;
use super::features::{FeatureBlock, FeatureKind};
use super::members::{Members, Seat};
use super::{Permutation, check_size, draw_edges};
use crate::error::{Error, Result};
use crate::graph::{EdgeList, Labels, Role, Split};
use crate::progress::Progress;
use crate::rng::Stream;

/// More random splits than any study takes the mean over; each has a byte a node.
const MOST_SPLITS: usize = 1000;

/// Below this the closed form loses its digits: its power tends to 1 / 0.
const MIN_EXPONENT: f64 = 2.01;

/// Settings of a graph with communities. The default is the demonstration
/// graph: neither its features nor its structure alone tells every class.
///
/// All methods but [`validate`](Communities::validate) and
/// [`edges`](Communities::edges) expect settings that `validate` accepts.
#[derive(Debug, Clone, PartialEq)]
pub struct Communities {
    /// Number of nodes.
    pub nodes: u64,
    /// Number of draws; repeats and self-loops among them go when merging.
    pub edges: u64,
    /// Number of communities, which are the classes; sizes differ by one at most.
    pub classes: u64,
    /// Share of edges that leave their community, between 0 and 1.
    pub mixing: f64,
    /// Exponent of the power law of expected degrees, 2.01 or more; infinity
    /// makes all expected degrees equal.
    pub degree_exponent: f64,
    /// What is known of each node.
    pub features: FeatureKind,
    /// Number of random splits, at most 1,000.
    pub splits: usize,
    /// Nodes of each class for training.
    pub train_per_class: u64,
    /// Nodes of each class for validation; all others are for the test.
    pub validation_per_class: u64,
    /// What all random numbers follow from.
    pub seed: u64,
}

impl Default for Communities {
    fn default() -> Communities {
        Communities {
            nodes: 3000,
            edges: 12_000,
            classes: 6,
            mixing: 0.25,
            degree_exponent: 2.5,
            features: FeatureKind::Sparse { width: 500, per_node: 15, noise: 0.6 },
            splits: 1,
            train_per_class: 20,
            validation_per_class: 30,
            seed: 0,
        }
    }
}

impl Communities {
    /// Checks every setting.
    pub fn validate(&self) -> Result<()> {
        check_size(self.nodes, self.edges)?;
        let most = self.nodes.min(i32::MAX as u64);
        if !(1..=most).contains(&self.classes) {
            let remedy = format!("choose between 1 and {most}, at least one node each");
            return Err(Error::setting("--classes", self.classes, remedy));
        }
        if !(0.0..=1.0).contains(&self.mixing) {
            return Err(Error::setting("--mixing", self.mixing, "choose a share between 0 and 1"));
        }
        if self.classes == 1 && self.mixing > 0.0 {
            let remedy = "choose 0, or --classes 2 or more: edges have nowhere else to go";
            return Err(Error::setting("--mixing", self.mixing, remedy));
        }
        if self.degree_exponent.is_nan() || self.degree_exponent < MIN_EXPONENT {
            let remedy = format!("choose {MIN_EXPONENT} or more, or inf for equal degrees");
            return Err(Error::setting("--degree-exponent", self.degree_exponent, remedy));
        }
        self.features.validate()?;
        if self.splits > MOST_SPLITS {
            let remedy = format!("choose {MOST_SPLITS} or less");
            return Err(Error::setting("--splits", self.splits, remedy));
        }
        if self.splits > 0 {
            self.check_split_sizes()?;
        }
        Ok(())
    }

    /// At least one node of each class is left for the test.
    fn check_split_sizes(&self) -> Result<()> {
        let smallest = self.nodes / self.classes;
        if self.train_per_class >= smallest {
            let remedy = format!("choose less than the smallest class has, {smallest}");
            return Err(Error::setting("--train-per-class", self.train_per_class, remedy));
        }
        let left = smallest - self.train_per_class;
        if self.validation_per_class >= left {
            let remedy = format!(
                "choose less than {left}: the smallest class has {smallest}, of which {} are for \
                 training and at least one is for the test",
                self.train_per_class
            );
            return Err(Error::setting(
                "--validation-per-class",
                self.validation_per_class,
                remedy,
            ));
        }
        Ok(())
    }

    /// Draws the edges.
    pub fn edges(&self, progress: &dyn Progress) -> Result<EdgeList> {
        self.validate()?;
        let members = self.members();
        let ends_per_class = 2.0 * self.edges as f64 / self.classes as f64;
        let ends = Endpoints::new(self.nodes, self.classes, self.degree_exponent, ends_per_class);
        Ok(draw_edges(self.edges, self.seed, "community edges", progress, |stream| {
            let source = ends.anywhere(stream);
            let leaves = stream.unit() < self.mixing;
            let draw = if leaves { Endpoints::outside } else { Endpoints::inside };
            let target = draw(&ends, source.class, stream);
            (members.node(source), members.node(target))
        }))
    }

    /// Features of some nodes: the same numbers however the nodes are cut into
    /// ranges. Work is spread over threads, so ask for thousands at a time.
    /// Without features the block is dense and empty.
    pub fn feature_rows(&self, rows: Range<u32>) -> FeatureBlock {
        assert!(u64::from(rows.end) <= self.nodes, "rows {rows:?} of {}", self.nodes);
        let members = self.members();
        self.features.rows(rows, self.classes, self.seed, |node| members.seat(node).class)
    }

    /// The community of every node, named "0", "1" and so on.
    pub fn labels(&self) -> Labels {
        let members = self.members();
        let classes: Vec<i32> = (0..self.nodes as u32)
            .into_par_iter()
            .map(|node| members.seat(node).class as i32)
            .collect();
        let names = (0..self.classes).map(|class| class.to_string()).collect();
        Labels::Single { classes: classes.into(), names }
    }

    /// Random divisions with the same number of nodes from each class, named
    /// "0", "1" and so on, or "random" where there is only one.
    pub fn splits(&self) -> Vec<Split> {
        let members = self.members();
        let split = |index: usize| {
            let name = if self.splits == 1 { "random".to_owned() } else { index.to_string() };
            let mut roles = vec![Role::Test as u8; self.nodes as usize];
            let mut stream = Stream::new(self.seed, "community split", index as u64);
            for class in 0..self.classes {
                let shuffle = Permutation::new(members.size(class), &mut stream);
                for place in 0..self.train_per_class + self.validation_per_class {
                    let train = place < self.train_per_class;
                    let role = if train { Role::Train } else { Role::Validation };
                    let node = members.node(Seat { class, rank: shuffle.forward(place) });
                    roles[node as usize] = role as u8;
                }
            }
            Split { name, roles }
        };
        (0..self.splits).map(split).collect()
    }

    fn members(&self) -> Members {
        Members::new(self.nodes, self.classes, self.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{on_threads, pairs};
    use super::*;
    use crate::progress::Silent;

    fn classes(settings: &Communities) -> Vec<i32> {
        let Labels::Single { classes, .. } = settings.labels() else { panic!("single") };
        classes.to_vec()
    }

    #[test]
    fn edges_leave_their_community_as_often_as_asked() {
        for (mixing, k) in [(0.0, 1), (0.0, 7), (0.25, 6), (0.9, 2), (1.0, 3)] {
            let settings = Communities { mixing, classes: k, edges: 50_000, ..Default::default() };
            let classes = classes(&settings);
            let list = pairs(&settings.edges(&Silent).unwrap());
            let left = list.iter().filter(|e| classes[e.0 as usize] != classes[e.1 as usize]);
            let share = left.count() as f64 / 50_000.0;
            let deviation = (mixing * (1.0 - mixing) / 50_000.0).sqrt();
            assert!((share - mixing).abs() <= 5.0 * deviation, "{share} for {mixing}");
        }
    }

    /// Ends at each node over all draws.
    fn degrees(settings: &Communities) -> Vec<u32> {
        let mut degrees = vec![0; settings.nodes as usize];
        for (u, v) in pairs(&settings.edges(&Silent).unwrap()) {
            degrees[u as usize] += 1;
            degrees[v as usize] += 1;
        }
        degrees
    }

    #[test]
    fn degrees_have_the_tail_that_was_asked_for() {
        let settings =
            Communities { nodes: 100_000, edges: 1_000_000, classes: 4, ..Communities::default() };
        let heavy = degrees(&settings);
        let above = |limit: u32| heavy.iter().filter(|&&d| d >= limit).count() as f64;
        // P(degree > d) ~ d^-1.5, less what the cap at sqrt(500,000) = 707 takes:
        // (160^-1.5 - 707^-1.5) / (40^-1.5 - 707^-1.5) = 0.113.
        let ratio = above(160) / above(40);
        assert!((0.095..0.135).contains(&ratio), "{ratio}");
        let equal = degrees(&Communities { degree_exponent: f64::INFINITY, ..settings });
        // Poisson with mean 20: 60 is nine standard deviations up.
        assert!(equal.iter().all(|&d| d < 60));
        let variance = equal.iter().map(|&d| (f64::from(d) - 20.0).powi(2)).sum::<f64>() / 1e5;
        assert!((variance - 20.0).abs() < 1.0, "{variance}");
    }

    #[test]
    fn threads_do_not_matter_and_the_seed_does() {
        let draw = |threads, seed, features: FeatureKind| {
            let settings = Communities { edges: 1_500_000, seed, features, ..Default::default() };
            on_threads(threads, || {
                let edges = pairs(&settings.edges(&Silent).unwrap());
                let roles: Vec<u8> = settings.splits().remove(0).roles;
                (edges, classes(&settings), settings.feature_rows(0..3000), roles)
            })
        };
        let dense = FeatureKind::Dense { width: 7, noise: 1.0 };
        for kind in [Communities::default().features, dense, FeatureKind::None] {
            let one = draw(1, 3, kind.clone());
            assert!(one == draw(2, 3, kind.clone()));
            let other = draw(2, 4, kind.clone());
            assert!(one.0 != other.0 && one.1 != other.1 && one.3 != other.3);
            assert_eq!(one.2 == other.2, kind == FeatureKind::None);
        }
    }

    #[test]
    fn cut_ranges_are_the_whole() {
        let dense = FeatureKind::Dense { width: 3, noise: 0.3 };
        for features in [Communities::default().features, dense] {
            let settings = Communities { features, ..Communities::default() };
            let (mut numbers, mut ends) = (Vec::new(), vec![0]);
            let mut add = |block| match block {
                FeatureBlock::Dense(values) => numbers.extend(values),
                FeatureBlock::Sparse { offsets, columns, values } => {
                    assert!(values.len() == columns.len() && values.iter().all(|&x| x == 1.0));
                    let base = numbers.len() as u64;
                    ends.extend(offsets[1..].iter().map(|end| base + end));
                    numbers.extend(columns.iter().map(|&column| column as f32));
                }
            };
            for rows in [0..1, 1..1, 1..1024, 1024..1500, 1500..2999, 2999..3000] {
                add(settings.feature_rows(rows));
            }
            match settings.feature_rows(0..3000) {
                FeatureBlock::Dense(values) => assert_eq!(values, numbers),
                FeatureBlock::Sparse { offsets, columns, .. } => {
                    assert_eq!(offsets, ends);
                    assert!(columns.iter().map(|&column| column as f32).eq(numbers));
                }
            }
        }
    }

    #[test]
    fn labels_are_balanced_and_show_in_features() {
        let settings = Communities { nodes: 3001, ..Communities::default() };
        let labels = settings.labels();
        assert_eq!(labels.names(), ["0", "1", "2", "3", "4", "5"]);
        assert_eq!(labels.class_sizes(), [501, 500, 500, 500, 500, 500]);
        let classes = classes(&settings);
        let FeatureBlock::Sparse { offsets, columns, .. } = settings.feature_rows(0..3001) else {
            panic!("sparse")
        };
        let (mut own, mut other) = (0, 0);
        for (node, ends) in offsets.windows(2).enumerate() {
            for &word in &columns[ends[0] as usize..ends[1] as usize] {
                let part = i64::from(word) * 6 / 500;
                own += u32::from(part == i64::from(classes[node]));
                other += u32::from(part == (i64::from(classes[node]) + 3) % 6);
            }
        }
        assert!(f64::from(own) > 2.0 * f64::from(other), "{own} against {other}");
    }

    #[test]
    fn splits_take_as_many_of_each_class_as_asked() {
        let settings = Communities { splits: 2, ..Communities::default() };
        let classes = classes(&settings);
        let splits = settings.splits();
        assert_eq!([&splits[0].name, &splits[1].name], ["0", "1"]);
        assert_ne!(splits[0].roles, splits[1].roles);
        for split in &splits {
            assert_eq!(split.counts(), [120, 180, 2700]);
            for class in 0..6 {
                let train = Role::Train as u8;
                let of_class = (0..3000).filter(|&n| classes[n] == class);
                assert_eq!(of_class.filter(|&n| split.roles[n] == train).count(), 20);
            }
        }
        assert_eq!(Communities::default().splits()[0].name, "random");
        assert!(Communities { splits: 0, ..Communities::default() }.splits().is_empty());
    }

    #[test]
    fn bad_settings_are_refused_by_name() {
        type Change = fn(&mut Communities);
        let cases: [(&str, Change); 22] = [
            ("--nodes", |s| s.nodes = 0),
            ("nodes", |s| s.nodes = u64::from(u32::MAX)),
            ("--edges", |s| s.edges = 0),
            ("--classes", |s| s.classes = 0),
            ("--classes", |s| s.classes = 3001),
            ("--mixing", |s| s.mixing = -0.1),
            ("--mixing", |s| s.mixing = 1.1),
            ("--mixing", |s| s.mixing = f64::NAN),
            ("--mixing", |s| s.classes = 1),
            ("--degree-exponent", |s| s.degree_exponent = 2.0),
            ("--degree-exponent", |s| s.degree_exponent = f64::NAN),
            ("--feature-width", |s| s.features = FeatureKind::Dense { width: 0, noise: 1.0 }),
            ("--features-per-node", |s| s.features = words(5, 6, 0.5)),
            ("--features-per-node", |s| s.features = words(5, 0, 0.5)),
            ("--feature-noise", |s| s.features = words(5, 2, 1.5)),
            ("--feature-noise", |s| s.features = FeatureKind::Dense { width: 2, noise: -1.0 }),
            ("--feature-noise", |s| s.features = FeatureKind::Dense { width: 2, noise: f64::NAN }),
            ("--splits", |s| s.splits = 1001),
            ("--splits", |s| s.splits = 1_000_000_000_000),
            ("--train-per-class", |s| s.train_per_class = 500),
            ("--validation-per-class", |s| s.validation_per_class = 480),
            ("--validation-per-class", |s| s.validation_per_class = u64::MAX),
        ];
        for (name, change) in cases {
            let mut settings = Communities::default();
            change(&mut settings);
            let error = settings.edges(&Silent).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{name} = ")), "{name}: {error}");
        }
        let tight = Communities { validation_per_class: 479, ..Communities::default() };
        assert!(tight.validate().is_ok());
        let unsplit = Communities { splits: 0, train_per_class: 9999, ..Communities::default() };
        assert!(unsplit.validate().is_ok());
    }

    fn words(width: usize, per_node: usize, noise: f64) -> FeatureKind {
        FeatureKind::Sparse { width, per_node, noise }
    }
}
