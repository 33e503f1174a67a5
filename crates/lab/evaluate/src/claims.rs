//! The scoreboard's input: published numbers, one record each.

mod reading;

/// A published claim.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Name, such as `asap.speedup.rp`.
    pub id: String,
    /// The paper, such as `asap`.
    pub paper: String,
    /// Where it stands.
    pub place: String,
    /// What it says.
    pub says: String,
    /// `value`, `ratio`, `share` or `order`.
    pub kind: String,
    /// `input`, `calibrate` or `predict`.
    pub purpose: String,
    /// The published values; none for a statement that is true or false.
    pub values: Vec<f64>,
    /// How far ours may be from them, as a share.
    pub tolerance: f64,
}

/// All claims.
#[derive(Clone, Debug)]
pub struct Claims {
    /// In the order of the file.
    pub list: Vec<Claim>,
}

impl Claims {
    /// Those that come with the project.
    ///
    /// # Errors
    /// Never for the file that is built in; a test reads it.
    pub fn built_in() -> Result<Claims, String> {
        Claims::of_text("validation/claims.toml", include_str!("../../../../validation/claims.toml"))
    }

    /// Those of a file's text; messages name the `file`.
    ///
    /// # Errors
    /// When it is not a list of claims, or one of them is not as claims are.
    pub fn of_text(file: &str, text: &str) -> Result<Claims, String> {
        reading::read(file, text)
    }

    /// The claims of a paper that the simulation has to bear out.
    pub fn of<'a>(&'a self, paper: &'a str) -> impl Iterator<Item = &'a Claim> {
        self.list.iter().filter(move |c| c.paper == paper && c.purpose != "input")
    }
}

impl Claim {
    /// A number that nobody has published, to be looked at as if somebody had.
    pub(crate) fn of_value(value: f64) -> Claim {
        let [id, paper, place, says, kind, purpose] = [(); 6].map(|()| String::new());
        Claim { id, paper, place, says, kind, purpose, values: vec![value], tolerance: 0.0 }
    }
}

#[cfg(test)]
impl Claim {
    /// One for a test.
    pub(crate) fn new(id: &str, values: &[f64], tolerance: f64) -> Claim {
        let [paper, place, says] = ["test", "nowhere", "nothing"].map(String::from);
        let (kind, purpose) = ("ratio".into(), "predict".into());
        Claim { id: id.into(), paper, place, says, kind, purpose, values: values.to_vec(), tolerance }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Description, PRESETS};
    use protocol::params::Source;

    #[test]
    fn what_is_fitted_is_fitted_to_claims_for_calibration() {
        let claims = Claims::built_in().unwrap();
        let mut seen = 0;
        for preset in PRESETS {
            for (param, _, source) in Description::preset(preset.name).unwrap().rows() {
                let Ok(Source::Fitted { claims: ids, .. }) = Source::read(&source) else { continue };
                for id in ids.split(',').map(str::trim) {
                    let claim = claims.list.iter().find(|c| c.id == id);
                    let purpose = claim.map(|c| c.purpose.as_str());
                    assert_eq!(purpose, Some("calibrate"), "{}: {}: {source}", preset.name, param.key);
                    seen += 1;
                }
            }
        }
        assert!(seen > 0);
    }
}
