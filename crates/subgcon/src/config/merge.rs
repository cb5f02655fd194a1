//! Settings from TOML, over others.
//!
//! A file names only what it changes. Keys of a section replace those of the base one by
//! one (`[features.projection]` is a section of its own); a key's value is replaced
//! as a whole. `"none"` takes an optional thing away.

use std::path::Path;

use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use super::Settings;
use crate::error::{Error, Place, Result};

/// What may be taken away with `"none"`; the last two in blocks of the output.
const OPTIONAL: [&str; 6] = [
    "company",
    "features.projection",
    "features.projection.norm",
    "training.subgraphs",
    "output.smoothing",
    "output.norm",
];

impl Settings {
    /// These settings with what a TOML text changes. `place` names the text in errors, such
    /// as a flag. Whether the values can be used is asked by [`validate`](Settings::validate), when all
    /// changes are made: one may want another.
    pub fn changed_by(&self, text: &str, place: &str) -> Result<Settings> {
        self.changed(text, place, false)
    }

    /// The same for a file, whose errors tell line and column.
    pub fn changed_by_file(&self, text: &str, path: &str) -> Result<Settings> {
        self.changed(text, path, true)
    }

    fn changed(&self, text: &str, place: &str, is_file: bool) -> Result<Settings> {
        let wrong = |error: &toml::de::Error, at: Option<usize>| {
            let problem = error.message().trim().replace('\n', " ");
            let remedy = "see docs/settings.md for all names";
            match at.filter(|_| is_file).and_then(|at| text.get(..at)) {
                None => Error::input(Path::new(place), problem, remedy),
                Some(before) => {
                    let line = before.matches('\n').count() as u64 + 1;
                    let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
                    let problem = format!("{problem} (column {column})");
                    Error::input(Place::line(place, line), problem, remedy)
                }
            }
        };
        let changes: Table =
            toml::from_str(text).map_err(|e| wrong(&e, e.span().map(|span| span.start)))?;
        // TOML's integers are signed.
        self.check_whole()?;
        let all = Table::try_from(self).expect("checked settings become TOML");
        let mut merged = all.clone();
        merge("", &mut merged, changes);
        let settings: Settings = merged
            .try_into()
            .map_err(|e: toml::de::Error| wrong(&e, first_wrong(&all, text, e.message())))?;
        Ok(settings)
    }

    /// As a TOML text that gives the same settings again, over any others.
    pub fn to_toml(&self) -> String {
        let mut all = Table::try_from(self).expect("checked settings become TOML");
        let none = || Value::String("none".into());
        if let Some(Value::Table(features)) = all.get_mut("features") {
            match features.get_mut("projection") {
                None => drop(features.insert("projection".into(), none())),
                Some(Value::Table(projection)) => {
                    projection.entry("norm").or_insert_with(none);
                }
                Some(_) => {}
            }
        }
        if let Some(Value::Table(training)) = all.get_mut("training") {
            training.entry("subgraphs").or_insert_with(none);
        }
        all.entry("company").or_insert_with(none);
        toml::to_string(&all).expect("a table becomes TOML")
    }
}

/// Where in a text the key begins that, all alone, gives this error. Once merged, a table
/// knows no places any more.
fn first_wrong(base: &Table, text: &str, message: &str) -> Option<usize> {
    fn look(
        path: &mut Vec<String>,
        table: &DeTable<'_>,
        fails: &dyn Fn(&[String]) -> bool,
    ) -> Option<usize> {
        table.iter().find_map(|(key, value)| {
            path.push(key.get_ref().to_string());
            let found = match value.get_ref() {
                DeValue::Table(section) if is_section(key.get_ref()) => look(path, section, fails),
                _ => fails(path).then(|| key.span().start),
            };
            path.pop();
            found
        })
    }
    let changes: Table = toml::from_str(text).ok()?;
    let fails = |path: &[String]| {
        let (Some(last), Some(first)) = (path.last(), path.first()) else { return false };
        let section = path[..path.len() - 1]
            .iter()
            .try_fold(&changes, |table, key| table.get(key).and_then(Value::as_table));
        let Some(value) = section.and_then(|section| section.get(last)) else { return false };
        let alone = path[1..].iter().rev().fold(value.clone(), |inner, key| {
            Value::Table(Table::from_iter([(key.clone(), inner)]))
        });
        let mut all = base.clone();
        merge("", &mut all, Table::from_iter([(first.clone(), alone)]));
        let settings: std::result::Result<Settings, toml::de::Error> = all.try_into();
        settings.is_err_and(|error| error.message() == message)
    };
    look(&mut Vec::new(), DeTable::parse(text).ok()?.get_ref(), &fails)
}

fn merge(path: &str, base: &mut Table, changes: Table) {
    for (key, change) in changes {
        let here = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match (base.get_mut(&key), change) {
            (_, change) if is_none(&here, &change) => {
                base.remove(&key);
            }
            (Some(Value::Table(section)), Value::Table(change)) if is_section(&key) => {
                merge(&here, section, change);
            }
            (_, Value::Array(mut blocks)) => {
                for block in blocks.iter_mut().filter_map(Value::as_table_mut) {
                    block.retain(|name, value| !is_none(&format!("{here}.{name}"), value));
                }
                base.insert(key, Value::Array(blocks));
            }
            (_, change) => {
                base.insert(key, change);
            }
        }
    }
}

fn is_none(path: &str, value: &Value) -> bool {
    OPTIONAL.contains(&path) && value.as_str() == Some("none")
}

/// Tables that are lists of keys, and not a choice with its numbers.
fn is_section(key: &str) -> bool {
    matches!(
        key,
        "contexts"
            | "company"
            | "features"
            | "projection"
            | "encoder"
            | "readout"
            | "objective"
            | "augmentation"
            | "optimizer"
            | "training"
    )
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use crate::context::Method;

    fn base() -> Settings {
        Preset::Default.settings()
    }

    #[test]
    fn every_preset_is_valid_and_survives_toml_and_json() {
        for preset in [Preset::Paper, Preset::Reference, Preset::Default] {
            let settings = preset.settings();
            settings.validate().unwrap();
            for over in [Preset::Paper, Preset::Default] {
                let again = over.settings().changed_by(&settings.to_toml(), "x").unwrap();
                assert_eq!(again, settings);
            }
            let json = serde_json::to_string(&settings).unwrap();
            assert_eq!(serde_json::from_str::<Settings>(&json).unwrap(), settings);
        }
    }

    #[test]
    fn only_what_is_named_changes() {
        let text = "seed = 7\n[encoder]\nwidth = 64\n[features.projection]\nwidth = 32\n\
                    [company]\nnearest = 4";
        let settings = base().changed_by(text, "x.toml").unwrap();
        let mut wanted = base();
        wanted.seed = 7;
        wanted.encoder.width = 64;
        wanted.features.projection.as_mut().unwrap().width = 32;
        wanted.company.as_mut().unwrap().nearest = 4;
        assert_eq!(settings, wanted);
        let without = settings.changed_by("company = \"none\"", "x.toml").unwrap();
        assert_eq!(without, Settings { company: None, ..wanted });
    }

    #[test]
    fn changes_that_want_each_other_come_in_any_order() {
        let stop = "training.stopping = { held-out-hinge = { share = 0.8 } }";
        let held = "training.held_out = 200";
        let settings = [[stop, held], [held, stop]].map(|changes| {
            changes.iter().fold(base(), |settings, text| settings.changed_by(text, "x").unwrap())
        });
        assert_eq!(settings[0], settings[1]);
        settings[0].validate().unwrap();
        assert!(base().changed_by(stop, "x").unwrap().validate().is_err());
    }

    #[test]
    fn a_choice_is_replaced_as_a_whole_and_optional_things_go() {
        let text = r#"
            [contexts]
            method = { power = { steps = 3 } }
            [objective]
            kind = "logistic"
            similarity = "dot"
            [features]
            projection = "none"
            rows = "none"
            [[output]]
            smoothing = "none"
        "#;
        let settings = base().changed_by(text, "x.toml").unwrap();
        assert_eq!(settings.contexts.method, Method::Power { steps: 3 });
        assert_eq!(settings.objective.kind, ObjectiveKind::Logistic);
        assert_eq!(settings.features.projection, None);
        assert_eq!(settings.features.rows, RowScale::None);
        assert_eq!(settings.output, [BlockSettings::default()]);
    }

    #[test]
    fn columns_are_standardized_by_a_word_or_a_name() {
        for (text, wanted) in [
            ("true", Standardize::All),
            ("false", Standardize::No),
            ("\"auto\"", Standardize::Auto),
        ] {
            let text = format!("[features]\nstandardize = {text}");
            let settings = Preset::Paper.settings().changed_by(&text, "x.toml").unwrap();
            assert_eq!(settings.features.standardize, wanted);
            assert_eq!(base().changed_by(&settings.to_toml(), "x").unwrap(), settings);
        }
    }

    #[test]
    fn what_is_unknown_or_impossible_is_refused_by_name() {
        let checked = |text: &str| {
            let settings = base().changed_by(text, "x.toml")?;
            settings.validate().map(|()| settings)
        };
        let refused = |text: &str| checked(text).unwrap_err().to_string();
        let told = refused("[encoder]\nwidht = 64");
        assert!(told.starts_with("x.toml: unknown field `widht`"), "{told}");
        let told = refused("[encoder]\nwidth = 0");
        assert!(told.starts_with("encoder.width = 0: choose"), "{told}");
        assert!(
            refused("[objective]\nkind = { margin = { margin = 1.5 } }")
                .starts_with("objective.margin")
        );
        assert!(
            refused("[training]\nbatch = 1").starts_with("training.batch = 1: the other contexts")
        );
        assert!(refused("seed = ").starts_with("x.toml: "));
        let told = refused("[features]\nstandardize = \"yes\"");
        assert!(told.contains("expected true, false or \"auto\" for standardize"), "{told}");
        assert!(refused("[features.projection]\nsmoothing = \"none\"").contains("unknown variant"));
        assert!(refused("[training]\nheld_out = 1").starts_with("training.held_out = 1"));
        assert!(refused("[encoder]\nwidth = 99999999999").starts_with("encoder.width"));
        let told = refused("[company]\nshare = 1.0");
        assert!(told.starts_with("company.share = 1: choose a share"), "{told}");
        assert!(refused("company.nearest = 0").starts_with("company.nearest = 0: choose 1 to"));
        let told = refused("[[output]]\nsource = \"projected\"\npick = \"context\"");
        assert!(told.starts_with("output.pick"), "{told}");
        for odd in
            ["", "source = \"features\"\nsmoothing = { powers = { steps = 1, weight = 0.5 } }"]
        {
            let told = refused(&format!("[[output]]\n[[output]]\nunlike = true\n{odd}"));
            assert!(told.starts_with("output.unlike = true: it is for a block of"), "{told}");
        }
        let told = refused("[[output]]\nsource = \"own\"\nunlike = true");
        assert!(told.starts_with("output.unlike = true: such a block has no columns"), "{told}");
        let told = refused("[[output]]\nnoisy_only = true");
        assert!(told.starts_with("output.noisy_only = true: such a block has"), "{told}");
        let told = refused("[[output]]\nsource = \"random\"\ncolumns = 0");
        assert!(told.starts_with("output.columns = 0: choose"), "{told}");
        let told = refused("[[output]]\nsource = \"random\"\npick = \"context\"");
        assert!(told.starts_with("output.pick"), "{told}");
        let told = refused("[[output]]\nsource = \"own\"\npick = \"context\"");
        assert!(told.starts_with("output.pick"), "{told}");
        let told = refused("[[output]]\nnoisy_steps = 1");
        assert!(told.starts_with("output.noisy_steps = 1: it is for a block"), "{told}");
        assert!(refused("[[output]]\nweight = 0.0").starts_with("output.weight = 0"));
        assert!(refused("[[output]]\nweight = 1e39").starts_with("output.weight = 1"));
        let in_file = |text: &str| base().changed_by_file(text, "x.toml").unwrap_err().to_string();
        let told = in_file("seed = 3\n\n[encoder]\nlayers = 1\n  widht = 64\n");
        assert!(told.starts_with("x.toml:5: unknown field `widht`"), "{told}");
        assert!(told.contains("(column 3); see docs/settings.md"), "{told}");
        let told = in_file("seed = 3\nencoder.width = \"wide\"\n");
        assert!(told.starts_with("x.toml:2: ") && told.contains("(column 9)"), "{told}");
        let told = in_file("seed = 3\nsteps = = 4\n");
        assert!(told.starts_with("x.toml:2: "), "{told}");
        let told = in_file("[training]\nsteps = 4\n[colour]\nx = 1\n");
        assert!(told.starts_with("x.toml:3: "), "{told}");
        let odd = Settings { seed: u64::MAX, ..base() };
        assert!(odd.changed_by("", "x").unwrap_err().to_string().starts_with("seed: is "));
        let mut odd = base();
        odd.training.steps = u64::MAX;
        assert!(odd.validate().is_err());
        let told = odd.changed_by("encoder.width = 4", "x").unwrap_err().to_string();
        assert!(told.starts_with("training.steps: is 18446744073709551615; choose"), "{told}");
    }
}
