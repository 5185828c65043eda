//! The CPU's kernels against the generic ones, values and gradients, and the two caches against each
//! other.

use super::*;
use crate::seed::Seed;
use burn::tensor::TensorData;
use std::cell::Cell;

thread_local! {
    static FORCED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is inside [`with_generic`].
pub(super) fn generic_is_forced() -> bool {
    FORCED.get()
}

/// What `work` gives when the generic kernels do it, on the CPU too. Only calls from this thread count.
pub(crate) fn with_generic<R>(work: impl FnOnce() -> R) -> R {
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            FORCED.set(false);
        }
    }
    FORCED.set(true);
    let _reset = Reset;
    work()
}

fn random(seed: u64, shape: [usize; 2], device: &Device) -> Tensor<2> {
    let mut rng = Seed::new(seed).rng();
    let numbers: Vec<f32> = (0..shape[0] * shape[1])
        .map(|_| rng.normal() as f32)
        .collect();
    Tensor::from_data(TensorData::new(numbers, shape), device)
}

fn values(tensor: Tensor<2>) -> Vec<f32> {
    tensor.into_data().try_into_vec().unwrap()
}

fn assert_close(a: &[f32], b: &[f32], what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (x, y) in a.iter().zip(b) {
        assert!(
            (x - y).abs() < 2e-5 * (1.0 + y.abs()),
            "{what}: {x} is not {y}"
        );
    }
}

/// Both ways give the same values and gradients for inputs of these shapes.
fn same<const N: usize>(shapes: [[usize; 2]; N], operation: impl Fn([Tensor<2>; N]) -> Tensor<2>) {
    let device = Device::flex().autodiff();
    let mut seed = 0;
    let inputs = shapes.map(|shape| {
        seed += 1;
        random(seed, shape, &device).require_grad()
    });
    let outputs = [
        operation(inputs.clone()),
        with_generic(|| operation(inputs.clone())),
    ];
    let results = outputs.map(|output| {
        let upstream = random(99, output.dims(), &device);
        let mut grads = (output.clone() * upstream).sum().backward();
        let mut numbers = vec![values(output.inner())];
        numbers.extend(
            inputs
                .each_ref()
                .map(|input| values(input.grad_remove(&mut grads).unwrap())),
        );
        numbers
    });
    let names = [
        "value",
        "first gradient",
        "second gradient",
        "third gradient",
    ];
    for ((a, b), name) in results[0].iter().zip(&results[1]).zip(names) {
        assert_close(a, b, name);
    }
}

#[test]
fn the_test_can_choose_the_way() {
    let device = Device::flex();
    assert!(is_cpu(&device) && is_cpu(&device.clone().autodiff()));
    with_generic(|| assert!(!is_cpu(&device)));
    assert!(is_cpu(&device));
}

#[test]
fn affine_maps_norms_and_swiglu_are_the_same() {
    for (rows, width) in [(1, 3), (7, 16), (5, 37)] {
        same([[rows, 6], [6, width], [1, width]], |[x, weight, bias]| {
            affine(x, weight, bias)
        });
        same([[rows, width], [rows, width]], |[gate, up]| {
            swiglu(gate, up)
        });
        same([[rows, width], [1, width]], |[x, weight]| {
            rms_norm(x, weight, 1e-6)
        });
    }
}

#[test]
fn rotations_are_the_same() {
    let rope = Rope::new(&[0, 5, 2], &[1.0, 0.2, 0.05]);
    same([[3, 12]], |[x]| rotate(&rope, x));
}

#[test]
fn rotations_turn_by_the_angle_of_the_position() {
    let x = Tensor::<2>::from_data([[1.0f32, 2.0, 3.0, 4.0]], &Device::flex());
    let rope = Rope::new(&[3], &[1.0, 0.1]);
    // pairs (x0, x2) and (x1, x3)
    let (a, b) = (3.0f32, 0.3f32);
    let expected = [
        a.cos() - 3.0 * a.sin(),
        2.0 * b.cos() - 4.0 * b.sin(),
        3.0 * a.cos() + a.sin(),
        4.0 * b.cos() + 2.0 * b.sin(),
    ];
    for turned in [
        rotate(&rope, x.clone()),
        with_generic(|| rotate(&rope, x.clone())),
    ] {
        assert_close(&values(turned), &expected, "turned");
    }
}

#[test]
fn attention_is_the_same_with_and_without_asking_prompts() {
    let packings = [
        Packing::rows(&[5]),
        Packing::rows(&[1, 19, 3]),
        Packing::new(&[4, 0, 17], &[vec![3, 1], vec![2], vec![5, 5, 18]]),
        Packing::new(&[3, 2], &[vec![2], vec![]]),
    ];
    for packing in packings.map(Arc::new) {
        for (heads, kv_heads, dim) in [(4, 2, 6), (3, 1, 16), (2, 2, 20)] {
            for first in [0, packing.prompt_tokens()] {
                let tokens = packing.tokens();
                let shapes = [
                    [tokens - first, heads * dim],
                    [tokens, kv_heads * dim],
                    [tokens, kv_heads * dim],
                ];
                same(shapes, |inputs| attend(inputs, &packing, first, dim));
            }
        }
    }
}

#[test]
fn log_softmax_and_its_gradient_are_the_same() {
    let (targets, device) = ([3, 0, 36], Device::flex());
    let logits = random(1, [3, 37], &device) * 9.0;
    let upstream = Tensor::<1>::from_data([0.5f32, -2.0, 1.0], &device);
    let run = || {
        let (logprobs, probabilities) = log_softmax(logits.clone(), &targets);
        let gradient = log_softmax_gradient(probabilities.clone(), &targets, upstream.clone());
        let logprobs = logprobs.into_data().try_into_vec::<f32>().unwrap();
        [logprobs, values(probabilities), values(gradient)]
    };
    for (a, b) in run().iter().zip(&with_generic(run)) {
        assert_close(a, b, "log-softmax");
    }
}

#[test]
fn reductions_are_the_same_and_see_what_is_not_finite() {
    let device = Device::flex();
    let all = random(7, [90, 70], &device);
    let (a, b) = (
        sum_of_squares(all.clone()),
        with_generic(|| sum_of_squares(all.clone())),
    );
    assert!((a / b - 1.0).abs() < 1e-5, "{a} is not {b}");
    assert!(all_finite(all.clone()) && with_generic(|| all_finite(all.clone())));
    for bad in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for place in [0, 4097, 6299] {
            let mut numbers = values(all.clone());
            numbers[place] = bad;
            let tensor = Tensor::<2>::from_data(TensorData::new(numbers, [90, 70]), &device);
            assert!(!all_finite(tensor.clone()) && !with_generic(|| all_finite(tensor.clone())));
        }
    }
}

#[test]
fn what_is_no_number_stays_so_in_every_operation() {
    let device = Device::flex();
    for payload in [0x7fc0_0000u32, 0x7fc0_0101, 0xffc0_01ff, 0x7f80_0001] {
        let mut numbers = values(random(1, [4, 40], &device));
        numbers[57] = f32::from_bits(payload);
        let bad = Tensor::<2>::from_data(TensorData::new(numbers, [4, 40]), &device);
        let ones = Tensor::<2>::ones([4, 40], &device);
        let silu = values(swiglu(bad.clone(), ones.clone()));
        assert!(silu[57].is_nan() && silu.iter().filter(|x| x.is_nan()).count() == 1);
        let normed = values(rms_norm(bad.clone(), Tensor::ones([1, 40], &device), 1e-6));
        let (logprobs, _) = log_softmax(bad.clone(), &[0, 1, 2, 3]);
        let logprobs = logprobs.into_data().try_into_vec::<f32>().unwrap();
        let packing = Arc::new(Packing::rows(&[4]));
        let found = values(attend([ones.clone(), bad, ones], &packing, 0, 40));
        for row in 0..4 {
            assert_eq!(normed[row * 40].is_nan(), row == 1);
            assert_eq!(logprobs[row].is_nan(), row == 1);
            // the key of token 1 is seen by itself and by all after it
            assert_eq!(found[row * 40].is_nan(), row >= 1);
        }
    }
}

#[test]
fn both_caches_find_the_same_while_rows_end() {
    let device = Device::flex();
    let (heads, kv_heads, dim, layers) = (4, 2, 6, 2);
    let prompts: [&[u32]; 3] = [&[1, 2, 3], &[], &[4; 18]];
    let tokens = 21;
    let pairs: Vec<Option<[Tensor<2>; 2]>> = (0..layers as u64)
        .map(|layer| {
            Some(
                [2 * layer, 2 * layer + 1]
                    .map(|seed| random(seed, [tokens, kv_heads * dim], &device)),
            )
        })
        .collect();
    let new = || {
        let lengths = prompts.map(<[u32]>::len);
        Cache::new(
            pairs.clone(),
            &lengths,
            [3, 8],
            [kv_heads, dim],
            &vec![0.3; dim / 2],
            &device,
        )
    };
    let mut caches = [new(), with_generic(new)];
    let mut living: Vec<usize> = (0..9).collect();
    let ended: [&[usize]; 6] = [&[], &[0, 4], &[1, 5], &[], &[2, 6, 7], &[3]];
    for (step, ended) in ended.iter().enumerate() {
        let kept: Vec<usize> = (0..living.len())
            .filter(|&i| !ended.contains(&living[i]))
            .collect();
        living = kept.iter().map(|&i| living[i]).collect();
        caches.iter_mut().for_each(|cache| cache.keep(&kept));
        for layer in 0..layers {
            let seed = 100 * (step as u64 + 1) + 10 * layer as u64;
            let [a, b] = caches.each_mut().map(|cache| {
                // each row has numbers of its own, whatever place it is computed at
                let ids: Vec<u32> = living.iter().map(|&row| row as u32).collect();
                let computed: Vec<usize> = cache
                    .computed(&ids)
                    .iter()
                    .map(|&row| row as usize)
                    .collect();
                let inputs = [(heads, 0), (kv_heads, 1), (kv_heads, 2)].map(|(heads, i)| {
                    random(seed + i, [9, heads * dim], &device)
                        .select(0, indices(&computed, &device))
                });
                let found = cache.attend(layer, inputs);
                values(cache.living(found))
            });
            assert_close(&a, &b, "found");
        }
        caches.iter_mut().for_each(Cache::advance);
    }
}
