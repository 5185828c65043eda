//! Every operation of the CPU against its plain formula, values and gradients, and the two caches against
//! each other.

use super::*;
use crate::model::cache::Cache;
use crate::model::packing::Packing;
use crate::model::plain;
use crate::seed::Seed;
use burn::tensor::activation::silu;
use std::sync::Arc;

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
fn same<const N: usize>(
    shapes: [[usize; 2]; N],
    ours: impl Fn([Tensor<2>; N]) -> Tensor<2>,
    plain: impl Fn([Tensor<2>; N]) -> Tensor<2>,
) {
    let device = Device::flex().autodiff();
    let mut seed = 0;
    let inputs = shapes.map(|shape| {
        seed += 1;
        random(seed, shape, &device).require_grad()
    });
    let results = [ours(inputs.clone()), plain(inputs.clone())].map(|output| {
        let weights = random(99, output.dims(), &device);
        let mut grads = (output.clone() * weights).sum().backward();
        let mut numbers = vec![values(output.inner())];
        numbers.extend(
            inputs
                .each_ref()
                .map(|input| values(input.grad_remove(&mut grads).unwrap())),
        );
        numbers
    });
    for (i, (a, b)) in results[0].iter().zip(&results[1]).enumerate() {
        assert_close(
            a,
            b,
            [
                "value",
                "first gradient",
                "second gradient",
                "third gradient",
            ][i],
        );
    }
}

#[test]
fn affine_maps_norms_and_swiglu_equal_the_plain_formulas() {
    for (rows, width) in [(1, 3), (7, 16), (5, 37)] {
        same(
            [[rows, 6], [6, width], [1, width]],
            |inputs| apply(Linear, inputs),
            |[x, weight, bias]| x.matmul(weight) + bias,
        );
        same(
            [[rows, width], [rows, width]],
            |inputs| apply(Swiglu, inputs),
            |[gate, up]| silu(gate) * up,
        );
        same(
            [[rows, width], [1, width]],
            |inputs| apply(RmsNorm { epsilon: 1e-6 }, inputs),
            |[x, weight]| plain::rms_norm(x, weight, 1e-6),
        );
    }
}

#[test]
fn rotation_equals_the_plain_formula() {
    let rope = crate::model::rope::Rope::new(&[0, 5, 2], 6, 100.0);
    same(
        [[3, 12]],
        |inputs| apply(Rotate(rope.clone()), inputs),
        |[x]| rope.apply(x),
    );
}

#[test]
fn attention_equals_the_plain_formula_with_and_without_asking_prompts() {
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
                same(
                    [
                        [tokens - first, heads * dim],
                        [tokens, kv_heads * dim],
                        [tokens, kv_heads * dim],
                    ],
                    |inputs| {
                        apply(
                            Attend {
                                packing: packing.clone(),
                                head_dim: dim,
                                first,
                            },
                            inputs,
                        )
                    },
                    |inputs| plain::attend(inputs, &packing, first, dim),
                );
            }
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
    let mut caches = [true, false].map(|host| {
        Cache::new(
            pairs.clone(),
            &prompts,
            [3, 8],
            [kv_heads, dim],
            100.0,
            host,
        )
    });
    let mut living: Vec<usize> = (0..9).collect();
    for (step, ended) in [
        vec![],
        vec![0, 4],
        vec![1, 5],
        vec![],
        vec![2, 6, 7],
        vec![3],
    ]
    .iter()
    .enumerate()
    {
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
                        .select(0, plain::indices(&computed, &device))
                });
                let found = cache.attend(layer, inputs);
                values(cache.living(found))
            });
            assert_close(&a, &b, "found");
        }
        caches.iter_mut().for_each(Cache::advance);
    }
}
