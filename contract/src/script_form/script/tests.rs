use super::*;

fn gencode(text: &str) -> Vec<u64> {
    read(text).gencode
}

fn output(text: &str) -> Output {
    read(text).output
}

fn named(name: &str) -> Output {
    Output::Named(name.into())
}

#[test]
fn nested_defaults_expand_to_the_innermost() {
    let facts = read(
        "arch=${2:-${CUDA_COMPUTE_CAP:-89}}\nnvcc -gencode \"arch=compute_${arch},code=[sm_${arch},compute_${arch}]\" -o l.so a.cu",
    );
    assert_eq!(facts.gencode, [89]);
    assert_eq!(facts.assigned, [89]);
    assert_eq!(facts.output, named("l.so"));
}

#[test]
fn a_flag_counts_before_an_assignment() {
    let facts = read("arch=${2:-89}\nnvcc -gencode arch=compute_90,code=sm_90 -o l.so a.cu");
    assert_eq!(facts.reached(), [90]);
    assert_eq!(facts.assigned, [89]);
}

#[test]
fn each_flag_uses_the_value_in_force_there() {
    let text = "arch=89\nnvcc -gencode arch=compute_${arch},code=sm_$arch -o a.so\n\
                arch=90; nvcc -gencode=arch=compute_${arch},code=sm_${arch} -o b.so";
    assert_eq!(gencode(text), [89, 90]);
    assert_eq!(output(text), named("b.so"));
}

#[test]
fn the_machine_code_decides_where_arch_and_code_differ() {
    assert_eq!(gencode("nvcc -gencode arch=compute_80,code=sm_86"), [86]);
    assert_eq!(gencode("nvcc --generate-code arch=compute_90"), [90]);
    assert_eq!(
        gencode("nvcc --generate-code=arch=compute_90a,code=sm_90a"),
        [90]
    );
}

#[test]
fn loops_over_known_words_reach_each() {
    let text =
        "for arch in 80 90a; do\n nvcc -gencode \"arch=compute_${arch},code=sm_${arch}\"\ndone";
    assert_eq!(gencode(text), [80, 90]);
}

#[test]
fn a_target_that_only_a_run_knows_leaves_the_assignment() {
    let text = "arch=${2:-80}\ntargets=$arch\nfor extra in ${LIST:-}; do targets=\"$targets $extra\"; done\n\
                flags=()\nfor target in $targets; do\n flags+=(-gencode \"arch=compute_${target},code=sm_${target}\")\ndone\n\
                nvcc \"${flags[@]}\" -o \"$out/libx.so\"";
    let facts = read(text);
    assert_eq!(facts.reached(), [80]);
    assert_eq!(facts.output, named("libx.so"));
}

#[test]
fn comments_printed_text_and_here_documents_do_not_count() {
    let text = "# nvcc -gencode arch=compute_70,code=sm_70 -o c.so\n\
                nvcc -gencode arch=compute_90,code=sm_90 -o l.so a.cu # for sm_120\n\
                echo built for sm_75 -o e.so\nset -o pipefail\ncat <<'END'\nnvcc -gencode arch=compute_60 -o h.so\nEND\n\
                if [ -f a -o -f b ]; then :; fi";
    let facts = read(text);
    assert_eq!((facts.gencode, facts.literal), (vec![90], vec![90]));
    assert_eq!(facts.output, named("l.so"));
}

#[test]
fn a_hash_inside_a_word_or_quotes_is_no_comment() {
    assert_eq!(output("nvcc -Da#b 'x # y' -o l.so"), named("l.so"));
    assert_eq!(output("n=${#list} nvcc -o l.so"), named("l.so"));
}

#[test]
fn the_output_is_the_last_one_without_its_directory() {
    assert_eq!(
        output("nvcc -o first.so\nnvcc -o \"$out/second.so\""),
        named("second.so")
    );
    assert_eq!(
        output("nvcc \\\n  -o \\\n  \"$(pwd)/deep/l.so\""),
        named("l.so")
    );
    assert_eq!(
        output("name=x\nnvcc -o ${out}/lib${name}_cuda.so"),
        named("libx_cuda.so")
    );
    assert_eq!(output("name=out/libx.so\nnvcc -o $name"), named("libx.so"));
    assert_eq!(output("nvcc -shared a.cu"), Output::None);
    assert_eq!(
        output("nvcc -o lib$1.so"),
        Output::Unknown("lib$1.so".into())
    );
    assert_eq!(output("nvcc -o \"$1\""), Output::Unknown("$1".into()));
}

#[test]
fn assignments_are_found_wherever_they_stand() {
    for text in [
        "export ARCH=90",
        "readonly arch=90",
        "local arch=\"90\"",
        "declare -r arch=90",
        "if true; then arch='90'; fi",
        "test -n x && CUDA_COMPUTE_CAP=90",
        ": \"${arch:=90}\"",
        "arch=${ARCH-90}",
        "arch=sm_90",
        "f() { arch=90; }",
    ] {
        assert_eq!(read(text).assigned, [90], "{text}");
    }
    for text in [
        "arch=$1",
        "arch=${1:?needed}",
        "arch=$(detect 90)",
        "march=90",
        "x=${arch:-90}",
    ] {
        assert!(read(text).assigned.is_empty(), "{text}");
    }
}

#[test]
fn a_name_in_the_text_is_the_weakest_sign() {
    assert_eq!(read("nvcc -arch=sm_90 -o l.so").reached(), [90]);
    assert!(read("nvcc -o l.so a.cu").reached().is_empty());
}

#[test]
fn unfinished_and_hostile_text_is_read_without_a_panic() {
    let deep = "${a:-".repeat(5000);
    for text in [
        "", "$", "${", "\"", "'", "`", "$(", "\\", "<<", "<<E", "-o", "nvcc -o", "for", "for x",
        "a+=", "${}", "-gencode", &deep,
    ] {
        let _ = read(text);
    }
    let loops =
        "for a in 1 2 3 4 5 6 7 8 9; do x=$a$a$a$a$a$a$a$a$a$a$a$a; y=$x$x$x$x; done".repeat(20);
    let _ = read(&loops);
}
