//! Where tensors live, chosen at run time.

#[cfg(any(feature = "cuda", feature = "ndarray"))]
use anyhow::Context;
use anyhow::Result;
use burn::tensor::Device;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// The kinds of device that an experiment can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// A CUDA GPU where this build and this machine have one, else the CPU.
    Auto,
    /// Burn's `flex` backend on the CPU.
    Cpu,
    /// Burn's `ndarray` backend on the CPU, in builds with the feature `ndarray`.
    Ndarray,
    /// An NVIDIA GPU, in builds with the feature `cuda`.
    Cuda,
}

/// The `[device]` table of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceConfig {
    /// The kind.
    pub kind: DeviceKind,
    /// Which one, of several GPUs.
    #[serde(default)]
    pub index: usize,
    /// Memory of the GPU in GiB, for the plan to refuse what cannot fit; that of the machine where the
    /// CPU computes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_gib: Option<f64>,
}

impl DeviceConfig {
    /// A device of this kind, the first of several.
    pub fn of(kind: DeviceKind) -> Self {
        Self {
            kind,
            index: 0,
            memory_gib: None,
        }
    }

    /// The device, with gradients.
    ///
    /// # Errors
    /// When this build or this machine does not have it.
    pub fn open(&self) -> Result<Device> {
        Ok(match self.resolved() {
            DeviceKind::Cuda => cuda(self.index)?,
            DeviceKind::Ndarray => ndarray()?,
            DeviceKind::Auto | DeviceKind::Cpu => Device::flex(),
        }
        .autodiff())
    }

    /// The kind, chosen where it is left to the program.
    fn resolved(&self) -> DeviceKind {
        match self.kind {
            DeviceKind::Auto if cuda(self.index).is_ok() => DeviceKind::Cuda,
            DeviceKind::Auto => DeviceKind::Cpu,
            kind => kind,
        }
    }

    /// True for a GPU, on which one thread does all the work.
    pub fn is_gpu(&self) -> bool {
        self.resolved() == DeviceKind::Cuda
    }

    /// Its memory in bytes, where it is known.
    pub fn memory(&self) -> Option<f64> {
        let given = self.memory_gib.map(|gib| gib * f64::from(1 << 30));
        given.or_else(|| (!self.is_gpu()).then(machine_memory).flatten())
    }

    /// A word for people.
    pub fn describe(&self) -> String {
        match self.resolved() {
            DeviceKind::Cuda => format!("cuda {}", self.index),
            DeviceKind::Ndarray => "cpu (ndarray)".to_owned(),
            DeviceKind::Auto | DeviceKind::Cpu => "cpu (flex)".to_owned(),
        }
    }
}

/// Memory of the machine, or what its container grants.
fn machine_memory() -> Option<f64> {
    let mut system = sysinfo::System::new().ok()?;
    system.refresh_memory();
    let total = match system.cgroup_limits() {
        Some(limits) if limits.total_memory > 0 => limits.total_memory.min(system.total_memory()),
        _ => system.total_memory(),
    };
    (total > 0).then_some(total as f64)
}

#[cfg(feature = "cuda")]
fn cuda(index: usize) -> Result<Device> {
    // asks the driver first: opening a device without one panics
    let devices = Device::enumerate(burn::tensor::DeviceType::Cuda).into_vec();
    let missing = || match devices.len() {
        0 => "device.kind: found \"cuda\", but this machine has no CUDA GPU, or no driver for it"
            .to_owned(),
        found => format!(
            "device.index: found {index}, expected less than {found}, the CUDA GPUs of this machine"
        ),
    };
    devices.get(index).cloned().with_context(missing)
}

#[cfg(not(feature = "cuda"))]
fn cuda(_: usize) -> Result<Device> {
    anyhow::bail!(
        "device.kind: found \"cuda\", expected \"cpu\": this program was built without --features cuda"
    )
}

#[cfg(feature = "ndarray")]
#[expect(
    deprecated,
    reason = "kept for comparison with flex as long as Burn has it"
)]
fn ndarray() -> Result<Device> {
    Ok(Device::ndarray())
}

#[cfg(not(feature = "ndarray"))]
fn ndarray() -> Result<Device> {
    anyhow::bail!(
        "device.kind: found \"ndarray\", expected \"cpu\": this program was built without --features ndarray"
    )
}
