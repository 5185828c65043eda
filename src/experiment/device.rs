//! Where tensors live, chosen at run time.

use anyhow::{Result, bail};
pub use burn::tensor::Device;
use serde::{Deserialize, Serialize};

/// The kinds of device that an experiment can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// The fastest that works.
    Auto,
    /// Burn's `flex` backend on the CPU.
    Cpu,
    /// Burn's `ndarray` backend on the CPU, in builds that have it.
    Ndarray,
    /// An NVIDIA GPU, in builds that have it.
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
}

impl DeviceConfig {
    /// The device, with gradients.
    ///
    /// # Errors
    /// When this build or this machine does not have it.
    pub fn open(&self) -> Result<Device> {
        match self.kind {
            DeviceKind::Auto | DeviceKind::Cpu => Ok(Device::flex().autodiff()),
            DeviceKind::Ndarray => bail!("device.kind: found \"ndarray\", expected \"cpu\": this build has no ndarray"),
            DeviceKind::Cuda => bail!("device.kind: found \"cuda\", expected \"cpu\": this build has no CUDA"),
        }
    }

    /// A word for people.
    pub fn describe(&self) -> &'static str {
        match self.kind {
            DeviceKind::Auto | DeviceKind::Cpu => "cpu (flex)",
            DeviceKind::Ndarray => "cpu (ndarray)",
            DeviceKind::Cuda => "cuda",
        }
    }
}
