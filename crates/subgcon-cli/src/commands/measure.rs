//! How good are embeddings? Probes on every split, rough ones for candidates.

use std::time::Instant;

use subgcon::eval::{Figures, FreeRow, ProbeReport, ProbeSettings, probe, validate};
use subgcon::graph::{Labels, Role, Split};
use subgcon::math::Matrix;

use super::eval::{figure, mean};
use super::figures::{Run, Seconds};

/// What every row is measured by.
pub(super) struct Measure<'a> {
    pub(super) labels: &'a Labels,
    pub(super) splits: Vec<Split>,
    pub(super) settings: ProbeSettings,
}

/// What validation nodes say of one value of C.
#[derive(Debug, Clone, Copy)]
pub(super) struct ByStrength {
    pub(super) c: f64,
    pub(super) figure: f64,
}

/// Nodes of each part of a split that a rough look takes, for each column of an embedding: with
/// fewer rows a probe does not know the curvature before it starts (`logistic.rs`), which makes
/// it slower than with many.
pub(super) const ROUGH: usize = 4;

impl<'a> Measure<'a> {
    /// The same on some of the nodes, `most` of each part of a split, where nodes have
    /// several classes and that are fewer nodes, of which the classes ask the same.
    pub(super) fn rough(&self, most: usize) -> Option<Measure<'a>> {
        let Labels::Multi { members, names } = self.labels else { return None };
        // Of each class: does a training node have it, is one without it?
        let asked = |split: &Split| {
            let mut asked = vec![[false; 2]; names.len()];
            let rows = members.chunks_exact(names.len().max(1)).zip(&split.roles);
            for (row, _) in rows.filter(|(_, role)| **role == Role::Train as u8) {
                let classes = asked.iter_mut().zip(row);
                classes.for_each(|(asked, &member)| asked[usize::from(member != 0)] = true);
            }
            asked
        };
        let splits: Vec<Split> = self.splits.iter().map(|split| split.thinned(most)).collect();
        let mut pairs = self.splits.iter().zip(&splits);
        let fewer = pairs.clone().any(|(all, some)| all.roles != some.roles);
        let same = pairs.all(|(all, some)| asked(all) == asked(some));
        let settings = self.settings.clone();
        (fewer && same).then_some(Measure { labels: self.labels, splits, settings })
    }

    /// The same with these values of C, chosen before, and their neighbours only.
    pub(super) fn around(&self, chosen: &[f64]) -> Measure<'a> {
        let grid = [&self.settings.grid[..], &self.settings.further].concat();
        let near = |at: usize| {
            let neighbours = &grid[at.saturating_sub(1)..(at + 2).min(grid.len())];
            neighbours.iter().any(|c| chosen.contains(c))
        };
        let grid = (0..grid.len()).filter(|&at| near(at)).map(|at| grid[at]).collect();
        self.with(self.settings.clone().with_grid(grid))
    }

    /// Nodes that train a probe or choose its C in any split.
    pub(super) fn held_in(&self) -> Vec<u32> {
        let nodes = self.splits.first().map_or(0, |split| split.roles.len());
        let held_in = [Role::Train as u8, Role::Validation as u8];
        let any =
            |node: &usize| self.splits.iter().any(|split| held_in.contains(&split.roles[*node]));
        (0..nodes).filter(any).map(|node| node as u32).collect()
    }

    /// Mean figure on the validation nodes, and every split's C.
    pub(super) fn validated(&self, embeddings: &Matrix<f32>) -> anyhow::Result<(f64, Vec<f64>)> {
        let (mut figures, mut c) = (Vec::new(), Vec::new());
        for split in &self.splits {
            let found = validate(embeddings, self.labels, split, &self.settings)?;
            figures.push(figure(self.labels, &found.figures));
            c.push(found.c);
        }
        Ok((mean(&figures), c))
    }

    /// Mean figure on the validation nodes by value of C, rising. All of them are tried, also those
    /// above the grid.
    pub(super) fn validated_by_strength(
        &self,
        embeddings: &Matrix<f32>,
    ) -> anyhow::Result<Vec<ByStrength>> {
        let settings = self.settings.clone().with_all();
        let mut sums: Vec<ByStrength> = Vec::new();
        for split in &self.splits {
            let found = validate(embeddings, self.labels, split, &settings)?;
            let figures = found.tried.iter().map(|tried| ByStrength {
                c: tried.c,
                figure: tried.validation.unwrap_or(0.0) / self.splits.len() as f64,
            });
            if sums.is_empty() {
                sums = figures.collect();
            } else {
                sums.iter_mut().zip(figures).for_each(|(sum, by)| sum.figure += by.figure);
            }
        }
        Ok(sums)
    }

    /// The same with this one of its values of C, fitted as by [`Measure::validated_by_strength`].
    pub(super) fn with_strength(&self, c: f64) -> Measure<'a> {
        self.with(self.settings.clone().keeping(c))
    }

    fn with(&self, settings: ProbeSettings) -> Measure<'a> {
        Measure { labels: self.labels, splits: self.splits.clone(), settings }
    }

    /// Probes embeddings on every split.
    pub(super) fn run(
        &self,
        embeddings: &Matrix<f32>,
        step: u64,
        seconds: Seconds,
    ) -> anyhow::Result<Run> {
        let started = Instant::now();
        let mut reports = Vec::with_capacity(self.splits.len());
        for split in &self.splits {
            reports.push(probe(embeddings, self.labels, split, &self.settings)?);
        }
        let seconds = Seconds { probe: started.elapsed().as_secs_f64(), ..seconds };
        Ok(self.told(&reports, step, embeddings.width, seconds))
    }

    /// Probes rows that cost nothing on every split.
    pub(super) fn run_free(&self, row: &FreeRow<'_>) -> anyhow::Result<Run> {
        let started = Instant::now();
        let (reports, made) = row.probe(self.labels, &self.splits, &self.settings)?;
        let all = started.elapsed().as_secs_f64();
        let seconds =
            Seconds { embed: row.seconds + made, probe: all - made, ..Seconds::default() };
        Ok(self.told(&reports, 0, row.width, seconds))
    }

    fn told(&self, reports: &[ProbeReport], step: u64, width: usize, seconds: Seconds) -> Run {
        let of = |figures: &Figures| figure(self.labels, figures);
        let validated = |report: &ProbeReport| report.validation.as_ref().map_or(0.0, of);
        Run {
            test: reports.iter().map(|report| of(&report.test)).collect(),
            validation: reports.iter().map(validated).collect(),
            c: reports.iter().map(|report| report.c).collect(),
            step,
            width,
            seconds,
        }
    }
}

#[cfg(test)]
mod tests {
    use subgcon::rng::Stream;

    use super::*;

    #[test]
    fn later_candidates_are_probed_around_the_best_c() {
        let labels = Labels::from_names(&[Some("a"), Some("b")]);
        let settings = ProbeSettings {
            grid: vec![0.1, 1.0, 10.0],
            further: vec![100.0],
            ..Default::default()
        };
        let measure = Measure { labels: &labels, splits: Vec::new(), settings };
        let grid = |c: &[f64]| measure.around(c).settings.grid;
        assert_eq!(grid(&[1.0]), [0.1, 1.0, 10.0]);
        assert_eq!(grid(&[0.1, 0.1]), [0.1, 1.0]);
        assert_eq!(grid(&[100.0]), [10.0, 100.0]);
        assert_eq!(grid(&[0.1, 100.0]), [0.1, 1.0, 10.0, 100.0]);
    }

    #[test]
    fn validated_by_strength_tells_the_same_of_each_c_as_a_probe_that_keeps_it() {
        // Twenty rows of forty columns to train on: fits for a large c depend on where they began.
        let (nodes, width) = (60, 40);
        let mut stream = Stream::new(7, "values", 0);
        let values = (0..nodes * width).map(|_| stream.unit() as f32).collect();
        let embeddings = Matrix::of(nodes, width, values);
        let splits: Vec<Split> = [0, 1]
            .map(|shift| {
                let roles = [Role::Train, Role::Validation, Role::Test].map(|role| role as u8);
                let roles = (0..nodes).map(|node| roles[(node + shift) % 3]).collect();
                Split { name: shift.to_string(), roles }
            })
            .into();
        let upper = |node: usize, column: usize| embeddings.row(node)[column] > 0.5;
        let names: Vec<_> = (0..nodes).map(|node| if upper(node, 0) { "a" } else { "b" }).collect();
        let single = Labels::from_names(&names.into_iter().map(Some).collect::<Vec<_>>());
        let members: Vec<u8> =
            (0..nodes).flat_map(|node| [0, 1].map(|at| u8::from(upper(node, at)))).collect();
        let several =
            Labels::Multi { members: members.into(), names: vec!["a".into(), "b".into()] };
        for labels in [&single, &several] {
            let settings = ProbeSettings {
                grid: vec![0.01, 1.0],
                further: vec![100.0, 1000.0],
                ..Default::default()
            };
            let measure = Measure { labels, splits: splits.clone(), settings };
            let all = measure.validated_by_strength(&embeddings).unwrap();
            let tried: Vec<f64> = all.iter().map(|by| by.c).collect();
            assert_eq!(tried, [0.01, 1.0, 100.0, 1000.0]);
            assert!(all[0].figure < all[3].figure);
            for by in all {
                let kept = measure.with_strength(by.c);
                let (figure, c) = kept.validated(&embeddings).unwrap();
                assert!((by.figure - figure).abs() < 1e-12 && c == [by.c, by.c]);
                // Not the figure alone, which is of few nodes: the surprise, too.
                for split in &measure.splits {
                    let of = |measure: &Measure<'_>| {
                        let found = validate(&embeddings, labels, split, &measure.settings);
                        found.unwrap().tried
                    };
                    let all = measure.settings.clone().with_all();
                    let chosen = of(&measure.with(all));
                    assert_eq!(chosen[..of(&kept).len()], of(&kept));
                    assert_eq!(of(&kept).last().unwrap().c, by.c);
                }
            }
        }
    }

    #[test]
    fn a_rough_look_takes_some_nodes_but_all_classes() {
        // Class "b": one training node in a hundred has it; "c": a single one.
        let nodes = 10_000;
        let member = |node: usize| [1, u8::from(node.is_multiple_of(100)), u8::from(node == 77)];
        let of = |names: &[&str]| {
            let rows = (0..nodes).flat_map(|node| member(node)[..names.len()].to_vec());
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            Labels::Multi { members: rows.collect::<Vec<u8>>().into(), names }
        };
        let split = Split { name: "x".into(), roles: vec![Role::Train as u8; nodes] };
        let rough = |labels: &Labels| {
            let splits = vec![split.clone()];
            let measure = Measure { labels, splits, settings: ProbeSettings::default() };
            measure.rough(2000).map(|rough| rough.splits[0].counts())
        };
        assert_eq!(rough(&of(&["a", "b"])), Some([2000, 0, 0]));
        assert_eq!(rough(&of(&["a", "b", "c"])), None);
        let (labels, splits) = (of(&["a", "b"]), vec![split.clone()]);
        let measure = Measure { labels: &labels, splits, settings: ProbeSettings::default() };
        assert!(measure.rough(nodes).is_none(), "no fewer nodes");
        assert_eq!(rough(&Labels::from_names(&vec![Some("a"); nodes])), None);
    }
}
