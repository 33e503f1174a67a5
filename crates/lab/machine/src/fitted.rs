//! Claims that values may be fitted to: what was fitted to one says nothing for the model any more where that comes out.

use crate::reader::Reader;
use protocol::params::nearest;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use toml::de::DeValue;

/// Every claim by name, and what it may be used for.
static CLAIMS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let text = include_str!("../../../../validation/claims.toml");
    // A test of those who read all of it holds that it can be read.
    let Ok(file) = (Reader { file: "validation/claims.toml", text }).parse() else { return BTreeMap::new() };
    let Some(DeValue::Array(claims)) = file.get_ref().get("claim").map(toml::Spanned::get_ref) else {
        return BTreeMap::new();
    };
    let named = claims.iter().filter_map(|claim| {
        let said = |key: &str| Some(claim.get_ref().get(key)?.get_ref().as_str()?.to_string());
        Some((said("id")?, said("use")?))
    });
    named.collect()
});

/// Whether there are such claims, with commas between them, and values may be fitted to them.
pub(crate) fn check(claims: &str) -> Result<(), String> {
    claims.split(',').map(str::trim).try_for_each(|id| match CLAIMS.get(id).map(String::as_str) {
        Some("calibrate") => Ok(()),
        Some(purpose) => {
            Err(format!("is fitted to {id}, which is marked {purpose}; give a claim marked calibrate"))
        }
        None => {
            let near = nearest(id, CLAIMS.keys().map(String::as_str));
            let near = near.first().map(|near| format!(", such as {near}")).unwrap_or_default();
            Err(format!(
                "is fitted to {id}, which is no claim; give one that coreplane show claims lists{near}"
            ))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_that_is_to_come_out_by_itself_is_told_from_one_for_calibration() {
        assert_eq!(check("nearpm.micro, nvdimmc.baseline.4k"), Ok(()));
        assert!(
            check("nearpm.micro, asap.speedup.rp")
                .unwrap_err()
                .contains("asap.speedup.rp, which is marked predict")
        );
        assert!(check("asap.config").unwrap_err().contains("marked input"));
        assert!(check("nearpm.mikro").unwrap_err().ends_with("lists, such as nearpm.micro"));
        assert!(check("").is_err());
    }
}
