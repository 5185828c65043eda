//! Stands in for cubecl-llvm, the compiler of GPU kernels by way of LLVM, which cubecl-cuda 0.11.3 cannot be
//! built without: its build script downloads LLVM from GitHub, so that a build with nothing but the crate
//! registry fails. sapo compiles kernels by way of CUDA C++ (feature `cpp` of cubecl-cuda), which needs none
//! of it. What stands here are the names that cubecl-cuda mentions; asked to compile, it refuses.
//!
//! It can go, with `[patch.crates-io]` and the dependency on cubecl-cuda in the Cargo.toml above, when
//! cubecl-llvm builds from the registry alone or cubecl-cuda makes it optional.

use cubecl_core::ir::nvidia::SmArch;
use cubecl_core::prelude::KernelDefinition;
use cubecl_environment::backtrace::BackTrace;
use cubecl_server::compiler::{CompilationError, Compiler};
use cubecl_server::kernel::BufferIOAttr;
use std::ffi::c_char;
use std::fmt;

/// Versions of PTX.
pub mod nvptx {
    /// See the module above.
    pub mod ptx_version {
        /// A version that no driver is known to load.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct PtxVersion(());

        impl PtxVersion {
            /// None: no PTX is made here.
            pub fn for_driver(_: i32) -> Option<Self> {
                None
            }
        }

        impl std::fmt::Display for PtxVersion {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("none")
            }
        }
    }
}

/// What LLVM would not lower.
pub mod shared {
    /// See the module above.
    pub mod lowered_features {
        /// The family of a GPU.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum GpuTarget {
            /// NVIDIA.
            Nvptx,
        }

        /// Restricts nothing.
        pub fn restrict_features<Properties>(_: &mut Properties, _: GpuTarget) {}
    }
}

/// Where kernels would run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LlvmTarget {
    /// An NVIDIA GPU.
    #[default]
    Nvptx,
}

/// How a kernel would be compiled.
#[derive(Clone, Debug, Default)]
pub struct PlironOptions {
    /// Of another family of GPUs.
    pub arch: Option<()>,
    /// The device.
    pub sm_arch: Option<SmArch>,
    /// What its driver loads.
    pub ptx_version: Option<nvptx::ptx_version::PtxVersion>,
    /// Whether parameters are constants of the grid.
    pub grid_constants: bool,
    /// For callers that fill the rest with defaults.
    pub rest: (),
}

/// A compiled kernel, of which there is none.
#[derive(Clone, Debug)]
pub struct NvptxModule {
    /// Code of the device.
    pub ptx: Vec<c_char>,
    /// Where it starts.
    pub entrypoint: String,
    /// What it was made from.
    pub ir: String,
    /// Bytes that a block shares.
    pub shared_memory_size: usize,
    /// What is read and written.
    pub io: Vec<BufferIOAttr>,
}

/// What the compiler would return.
#[derive(Clone, Debug)]
pub enum PlironArtifact {
    /// A kernel.
    NvptxCode(NvptxModule),
    /// Nothing.
    None,
}

impl fmt::Display for PlironArtifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no kernel")
    }
}

/// A compiler that refuses.
#[derive(Clone, Debug, Default)]
pub struct PlironCompiler {
    /// Where its kernels would run.
    pub target: LlvmTarget,
}

impl Compiler for PlironCompiler {
    type Representation = PlironArtifact;
    type CompilationOptions = PlironOptions;

    fn buffer_io(_: &Self::Representation) -> Option<Vec<BufferIOAttr>> {
        None
    }

    fn compile(
        &mut self,
        _: KernelDefinition,
        _: &Self::CompilationOptions,
    ) -> Result<Self::Representation, CompilationError> {
        Err(CompilationError::Validation {
            reason: "this build has no LLVM: cubecl-cuda must be built with its feature `cpp`".to_owned(),
            backtrace: BackTrace::capture(),
        })
    }

    fn extension(&self) -> &'static str {
        "ll"
    }

    fn lang_tag(&self) -> &'static str {
        "llvm"
    }
}
