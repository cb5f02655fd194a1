//! What do keywords ask for? A preset, and a tree of changes over it, as JSON.

use pyo3::prelude::*;
use subgcon::config::{Preset, Settings};

use crate::errors::{raised, wrong};

/// Settings as JSON: a preset and changes over it, each a name for errors and a text: a JSON
/// object, or TOML.
#[pyfunction]
pub(crate) fn resolve(preset: &str, changes: Vec<(String, String)>) -> PyResult<String> {
    let preset: Preset = serde_json::from_value(preset.into()).map_err(|_| {
        wrong(format!("preset = {preset:?}: choose \"default\", \"paper\" or \"reference\""))
    })?;
    let mut settings = preset.settings();
    for (name, change) in changes {
        let refuse = |problem: String| wrong(format!("{name}: {problem}"));
        // No TOML begins with a brace.
        let text = match change.trim_start().starts_with('{') {
            false => change,
            true => {
                let change: toml::Table =
                    serde_json::from_str(&change).map_err(|error| refuse(error.to_string()))?;
                toml::to_string(&change).map_err(|error| refuse(error.to_string()))?
            }
        };
        settings = settings.changed_by(&text, &name).map_err(raised)?;
    }
    settings.validate().map_err(raised)?;
    Ok(told(&settings))
}

/// The same settings as a file for the command's `--config`.
#[pyfunction]
pub(crate) fn to_toml(settings: &str) -> PyResult<String> {
    Ok(read(settings)?.to_toml())
}

/// Settings that are checked.
pub(crate) fn read(settings: &str) -> PyResult<Settings> {
    let settings: Settings =
        serde_json::from_str(settings).map_err(|error| wrong(format!("settings: {error}")))?;
    settings.validate().map_err(raised)?;
    Ok(settings)
}

pub(crate) fn told(settings: &Settings) -> String {
    serde_json::to_string(settings).expect("plain data becomes JSON")
}
