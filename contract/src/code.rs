//! The stable codes of the findings. docs/contract.md documents each; a test holds the two together.

use crate::finding::{Finding, Severity};

/// Defines the enum, its names and its texts in one place.
macro_rules! codes {
    ($($variant:ident $name:literal $severity:ident $text:literal)*) => {
        /// What rule a finding is about.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $text] $variant,)*
        }

        impl Code {
            /// Every code, in the order of docs/contract.md.
            pub const ALL: &[Code] = &[$(Code::$variant,)*];

            /// The code as documents carry it.
            pub fn name(self) -> &'static str {
                match self { $(Code::$variant => $name,)* }
            }

            /// How much a finding of this code weighs, unless the older form weighs it as a warning.
            pub fn severity(self) -> Severity {
                match self { $(Code::$variant => Severity::$severity,)* }
            }

            /// What the code stands for, in one sentence.
            pub fn text(self) -> &'static str {
                match self { $(Code::$variant => $text,)* }
            }
        }
    };
}

codes! {
    RootMissing "root-missing" Error "The directory to check is not there or is not a directory."
    NoBackends "no-backends" Warning "No manifest was found below the directory."
    TreeUnreadable "tree-unreadable" Error "A directory could not be listed."
    KernelWithoutManifest "kernel-without-manifest" Error "A directory holds .cu or .cuh files that belong to no manifest and not to the suite."
    KernelNotInSources "kernel-not-in-sources" Error "A .cu or .cuh file of a backend is missing from its `sources` (older form: a warning)."
    ManifestUnreadable "manifest-unreadable" Error "The manifest cannot be read, or is not UTF-8."
    ManifestNotJson "manifest-not-json" Error "The manifest is not JSON; NaN and Infinity are not either."
    ManifestMisnamed "manifest-misnamed" Error "The file is not called `<directory>.backend.json`, so nothing would find it."
    DuplicateKey "duplicate-key" Error "An object has a key twice."
    RequiredKey "required-key" Error "A required key is missing."
    UnknownKey "unknown-key" Error "A key that the contract does not know (older form: a warning)."
    WrongType "wrong-type" Error "A value has the wrong JSON type; true and false are not numbers, null is not an absent key."
    BadValue "bad-value" Error "A value of the right type that its key does not allow."
    NameMismatch "name-mismatch" Error "`name` is not the directory's name (flat layout: not the file's stem)."
    NameTaken "name-taken" Error "Another backend of the tree has the same name."
    PathNotRelative "path-not-relative" Error "A path is absolute, contains `..`, `.`, an empty part or a backslash."
    SourceMissing "source-missing" Error "A declared source is not there."
    NoTranslationUnit "no-translation-unit" Error "A backend that must build has no .cu file among its `sources`."
    LibraryName "library-name" Error "`library` is not the name with hyphens as underscores."
    PrefixTaken "prefix-taken" Error "Another backend of the tree has the same `prefix`; their symbols would clash."
    HeaderMissing "header-missing" Error "The declared header is not there."
    AbiMacroMissing "abi-macro-missing" Error "The declared header does not define `<PREFIX>_ABI_VERSION` as a number."
    AbiMismatch "abi-mismatch" Error "`abi_version` is not what the `_ABI_VERSION` macro says."
    AbiConflict "abi-conflict" Error "The declared sources define more than one ABI version."
    AbiDisagree "abi-disagree" Error "Backends without an `_ABI_VERSION` macro declare different versions, so that no loader could check one."
    DefaultArch "default-arch" Error "`build.default_arch` is not among `build.architectures`."
    MinCapability "min-capability" Error "An architecture is below `build.min_capability`."
    FlagsFile "flags-file" Error "`build.flags` names something that is no .cu file of `sources`."
    FlagForbidden "flag-forbidden" Error "A flag that would change the bits or the kind of code: relaxed math, device debug, relocatable device code, an architecture."
    NoEntryPoint "no-entry-point" Error "A backend that must build has no entry point."
    SymbolPrefix "symbol-prefix" Error "An entry point or export does not begin with `<prefix>_`."
    SymbolTwice "symbol-twice" Error "A symbol is listed twice among entry points, exports and the three that every library has."
    SymbolNotInHeader "symbol-not-in-header" Error "An entry point, an export or one of the three that every library has is not declared in the header."
    SymbolNotInManifest "symbol-not-in-manifest" Error "The header declares a function that neither `entry_points` nor `exports` names."
    ModelPath "model-path" Error "A `models` entry is not a relative directory that ends in `/`."
    ModelAbsent "model-absent" Warning "A `models` entry is not in the tree."
    ToleranceMissing "tolerance-missing" Error "A validated backend has no number in `numerics.tolerance`; `note` is none."
    ToleranceValue "tolerance-value" Error "A tolerance is not a number, or is negative."
    EntrypointMissing "entrypoint-missing" Error "A validated backend has no `reference.entrypoint`."
    EntrypointAbsent "entrypoint-absent" Warning "The file that `reference.entrypoint` names is not there."
    CasesMissing "cases-missing" Error "A validated backend lists no parity case."
    EvidenceMissing "evidence-missing" Error "A validated backend names no evidence, or the directory holds none."
    EvidenceUnreadable "evidence-unreadable" Error "An evidence file cannot be read, or is not UTF-8."
    EvidenceNotJson "evidence-not-json" Error "An evidence file is not JSON."
    EvidenceSchema "evidence-schema" Error "An evidence file does not have the form of evidence."
    EvidenceBody "evidence-body" Error "An evidence file is not what the run wrote: its body hash is another."
    EvidenceSubject "evidence-subject" Error "An evidence file is about another backend, ABI or numerics version, or is filed under another GPU's name."
    EvidenceEmulated "evidence-emulated" Error "The evidence comes from the simulator, which proves nothing about a GPU."
    EvidenceCaseMissing "evidence-case-missing" Error "A parity case of the manifest is missing from the evidence."
    EvidenceCaseFailed "evidence-case-failed" Error "A case did not pass, compared nothing, or its error is above its tolerance."
    EvidenceKnownBad "evidence-known-bad" Error "The harness did not catch a known-bad kernel, or ran none."
    EvidenceSanitizer "evidence-sanitizer" Error "A sanitizer reported something."
    EvidenceSanitizerSkipped "evidence-sanitizer-skipped" Warning "A sanitizer could not run, or none was asked to."
    EvidenceStale "evidence-stale" Stale "The evidence is intact and was made from other sources, flags or suite than the tree's."
    ClosureUnreadable "closure-unreadable" Error "The files that the sources include could not be determined."
    ScriptMissing "script-missing" Error "`build.script` is not there or cannot be read."
    ScriptNotExecutable "script-not-executable" Error "`build.script` has no execute bit."
    ScriptOutput "script-output" Error "The last `-o` of the script does not write `build.output`, or there is none."
    ScriptOutputUnknown "script-output-unknown" Warning "The name behind the script's last `-o` depends on what only a run would know."
    ScriptArchUnreached "script-arch-unreached" Error "An architecture is claimed that the script does not reach."
    ScriptArchUnused "script-arch-unused" Error "The script assigns an architecture that no `-gencode` flag passes on."
    ScriptArchExtra "script-arch-extra" Warning "The script also builds for an architecture that the manifest does not claim."
    ScriptArchNone "script-arch-none" Warning "The script names no architecture, so that the claim cannot be checked."
}

impl Code {
    /// A finding of this code.
    pub fn at(
        self,
        path: impl Into<String>,
        pointer: impl Into<String>,
        message: impl Into<String>,
    ) -> Finding {
        Finding::new(self.severity(), self.name(), path, pointer, message)
    }

    /// A finding of this code that only warns.
    pub fn warning(
        self,
        path: impl Into<String>,
        pointer: impl Into<String>,
        message: impl Into<String>,
    ) -> Finding {
        Finding::new(Severity::Warning, self.name(), path, pointer, message)
    }
}
