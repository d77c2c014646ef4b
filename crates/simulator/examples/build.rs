//! Builds the simulator library of a kernel crate and prints its path:
//! `cargo run -p simulator --example build -- crates/scoring checked`.

use simulator::Flavor;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments
        .next()
        .ok_or("usage: build CRATE_DIR [plain|checked|asan]")?;
    let wanted = arguments.next().unwrap_or_else(|| "plain".to_owned());
    let flavor = Flavor::ALL
        .into_iter()
        .find(|flavor| flavor.name() == wanted)
        .ok_or_else(|| format!("no flavor is named {wanted:?}"))?;
    println!(
        "{}",
        simulator::build(directory.as_ref(), flavor)?.display()
    );
    Ok(())
}
