//! Whoever watches an import hears of every file that can take long.

use std::sync::Mutex;

use crate::harness::watched;
use crate::toy::{self, Toy};
use subgcon::graph::generate::Communities;
use subgcon::progress::Progress;

/// A piece of work as it was told.
#[derive(Debug)]
struct Work {
    what: String,
    total: u64,
    unit: &'static str,
    done: u64,
    ended: bool,
}

/// One piece of work after another.
#[derive(Default)]
struct Diary(Mutex<Vec<Work>>);

impl Progress for Diary {
    fn begin(&self, what: &str, total: u64, unit: &'static str) {
        let mut works = self.0.lock().unwrap();
        assert!(
            works.last().is_none_or(|work| work.ended),
            "{what} begins before the end of another"
        );
        works.push(Work { what: what.to_owned(), total, unit, done: 0, ended: false });
    }

    fn advance(&self, amount: u64) {
        self.0.lock().unwrap().last_mut().unwrap().done += amount;
    }

    fn end(&self) {
        self.0.lock().unwrap().last_mut().unwrap().ended = true;
    }
}

/// What was read: `edge.csv.gz 6 lines`. All of it has been done and ended.
fn read(toy: &Toy) -> Vec<String> {
    let (dir, diary) = (tempfile::tempdir().unwrap(), Diary::default());
    toy.write(dir.path());
    watched(|store| (toy.import)(dir.path(), store), &diary).unwrap();
    let mut works = diary.0.into_inner().unwrap();
    assert!(works.iter().all(|work| work.ended), "{works:?}");
    works.retain(|work| work.what.starts_with("reading "));
    assert!(works.iter().all(|work| work.total == 0 || work.done == work.total), "{works:?}");
    let line = |work: &Work| format!("{} {} {}", &work.what[8..], work.done, work.unit);
    works.iter().map(line).collect()
}

#[test]
fn importers_tell_what_they_read() {
    let bytes = |toy: &Toy, name: &str| {
        let file = toy.files.iter().find(|file| file.0 == name).unwrap();
        format!("{name} {} bytes", file.1.bytes().len())
    };
    let text = ["edge.csv.gz 6 lines", "edge_weight.csv 6 lines", "node-feat.csv 7 lines"];
    assert_eq!(read(&toy::ogb()), [&text[..], &["node-label.csv.gz 7 lines"]].concat());
    let csr = ["edges 12 edges", "weights 12 edges", "features 7 nodes"];
    assert_eq!(read(&toy::benchmark()), csr);
    assert_eq!(read(&toy::heterophilous()), ["edges 6 edges", "features 7 nodes"]);
    assert_eq!(read(&toy::coordinates()), ["edges 6 edges", "weights 6 edges"]);
    let saint = toy::graphsaint();
    let json = [bytes(&saint, "class_map.json"), bytes(&saint, "role.json")];
    assert_eq!(read(&saint), [&csr.map(String::from)[..], &json].concat());
    let sage = toy::graphsage();
    let [graph, map, classes] =
        ["G", "id_map", "class_map"].map(|p| bytes(&sage, &format!("toy-{p}.json")));
    assert_eq!(read(&sage), [graph, map, "features 7 nodes".into(), classes]);
    let planetoid = toy::planetoid();
    let [allx, graph, tx, x] =
        ["allx", "graph", "tx", "x"].map(|part| bytes(&planetoid, &format!("ind.toy.{part}")));
    assert_eq!(read(&planetoid), [allx, graph, tx, x, "features 7 nodes".into()]);
}

#[test]
fn many_lines_are_told_in_batches_and_to_the_last() {
    let edges = "0,1\n".repeat(3 * 4096 + 5);
    let toy = toy::ogb().with("raw/edge.csv.gz", toy::gzip(&edges)).without("raw/edge_weight.csv");
    assert_eq!(read(&toy)[0], "edge.csv.gz 12293 lines");
}

#[test]
fn a_generated_store_says_how_it_was_split() {
    let settings = Communities {
        splits: 2,
        train_per_class: 3,
        validation_per_class: 4,
        ..Communities::default()
    };
    let got = watched(|store| settings.store(store), &Diary::default()).unwrap();
    for (name, value) in [("splits", "2"), ("train-per-class", "3"), ("validation-per-class", "4")]
    {
        assert_eq!(got.origin.settings[name], value);
    }
    let more = Communities { splits: 1_000_000_000_000, ..Communities::default() };
    let error = watched(|store| more.store(store), &Diary::default()).err().unwrap().to_string();
    assert_eq!(error, "--splits = 1000000000000: choose 1000 or less");
}
