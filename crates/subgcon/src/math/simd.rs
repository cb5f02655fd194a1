//! Which instructions does this processor have?
//!
//! Kernels are plain loops over arrays of fixed length. They are compiled once for
//! every [`Simd`] level and chosen at run time: a [`Work`] is a kernel together with
//! its operands, and [`Simd::run`] calls it where the compiler may use the level's
//! instructions. Everything that a work calls has to be `#[inline(always)]`;
//! whatever is not inlined is compiled for the baseline. That goes for the standard library's
//! functions, too: `map` of an array was inlined in one build and not in the next, and smoothing took
//! three times as long, for a change in a kernel that has nothing to do with it. So after a change of one kernel
//! whole runs are measured (`cargo xtask bench whole`), not that one alone.

/// Instructions that kernels are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Simd {
    /// What every processor of the target has.
    Baseline,
    /// 8 numbers, fused multiply-add.
    Avx2,
    /// 16 numbers, 32 registers, masks.
    Avx512,
}

/// A kernel with its operands, such as a step of the fused layer.
pub trait Work {
    /// What it makes.
    type Made;

    /// `FMA` says whether `mul_add` is an instruction; `signs` has a bit for each
    /// number that is not above zero, `blend` takes the second number where the bit is
    /// set and the first elsewhere. To be `#[inline(always)]`.
    fn run<const FMA: bool>(self, signs: impl Signs, blend: impl Blend) -> Self::Made;
}

/// Bits of numbers not above zero: closures, which have the instructions of the function
/// they are written in.
pub trait Signs: Fn(&[f32; 16]) -> u16 + Copy {}
impl<F: Fn(&[f32; 16]) -> u16 + Copy> Signs for F {}

/// A choice by bits: closures, as above.
pub trait Blend: Fn(u16, &[f32; 16], &[f32; 16]) -> [f32; 16] + Copy {}
impl<F: Fn(u16, &[f32; 16], &[f32; 16]) -> [f32; 16] + Copy> Blend for F {}

impl Simd {
    /// All levels, the best last.
    pub const ALL: [Simd; 3] = [Simd::Baseline, Simd::Avx2, Simd::Avx512];

    /// The best level of this processor.
    pub fn detect() -> Simd {
        let has = |level: &Simd| level.is_here();
        Simd::ALL.into_iter().rev().find(has).unwrap_or(Simd::Baseline)
    }

    /// Whether this processor has all of the level's instructions.
    pub fn is_here(self) -> bool {
        match self {
            Simd::Baseline => true,
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => {
                Simd::Avx2.is_here()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512bw")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Simd::Avx2 | Simd::Avx512 => false,
        }
    }

    /// Does the work with this level's instructions.
    #[inline]
    pub fn run<W: Work>(self, work: W) -> W::Made {
        // Asked every time: it is a load and a test, and makes the calls below sound
        // whoever made the level.
        assert!(self.is_here(), "this processor has no {self:?}; take Simd::detect()");
        match self {
            // SAFETY: the assertion has found all of the callee's features.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            Simd::Avx512 => unsafe { x86::avx512(work) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            Simd::Avx2 => unsafe { x86::avx2(work) },
            _ => work.run::<false>(signs, blend),
        }
    }
}

#[inline(always)]
fn signs(x: &[f32; 16]) -> u16 {
    (0..16).fold(0, |bits, at| bits | u16::from(x[at] <= 0.0) << at)
}

/// By whole numbers: a choice between floats became a branch for each.
#[inline(always)]
fn blend(bits: u16, clear: &[f32; 16], set: &[f32; 16]) -> [f32; 16] {
    let mut chosen = [0.0; 16];
    for at in 0..16 {
        let mask = (u32::from(bits) >> at & 1).wrapping_neg();
        chosen[at] = f32::from_bits(set[at].to_bits() & mask | clear[at].to_bits() & !mask);
    }
    chosen
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256, _CMP_LE_OQ, _mm256_and_si256, _mm256_blendv_ps, _mm256_castsi256_ps, _mm256_cmp_ps,
        _mm256_cmpeq_epi32, _mm256_movemask_ps, _mm256_set1_epi32, _mm256_setr_epi32,
        _mm256_setzero_ps, _mm512_castps256_ps512, _mm512_castps512_ps256, _mm512_cmp_ps_mask,
        _mm512_extractf32x8_ps, _mm512_insertf32x8, _mm512_mask_blend_ps, _mm512_setzero_ps,
    };

    use super::Work;

    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    pub(super) fn avx512<W: Work>(work: W) -> W::Made {
        // The halves of one register, put together again for free.
        let whole = |x: &[f32; 16]| {
            let [low, high]: [__m256; 2] = bytemuck::cast(*x);
            _mm512_insertf32x8::<1>(_mm512_castps256_ps512(low), high)
        };
        // The compiler does not find these instructions: with bits unpacked by a loop,
        // the fused layer's way back along arcs took 1.2 times as long at best, and 5
        // to 10 times where the loop became branches.
        work.run::<true>(
            |x| _mm512_cmp_ps_mask::<_CMP_LE_OQ>(whole(x), _mm512_setzero_ps()),
            |bits, clear, set| {
                let chosen = _mm512_mask_blend_ps(bits, whole(clear), whole(set));
                let low = _mm512_castps512_ps256(chosen);
                bytemuck::cast([low, _mm512_extractf32x8_ps::<1>(chosen)])
            },
        )
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn avx2<W: Work>(work: W) -> W::Made {
        work.run::<true>(
            |x| {
                let [low, high]: [__m256; 2] = bytemuck::cast(*x);
                let below = |part| _mm256_cmp_ps::<_CMP_LE_OQ>(part, _mm256_setzero_ps());
                let bits = |part| _mm256_movemask_ps(below(part)) as u16;
                bits(low) | bits(high) << 8
            },
            |bits, clear, set| {
                let places = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
                let choose = |bits: u16, clear, set| {
                    let bits = _mm256_and_si256(_mm256_set1_epi32(i32::from(bits)), places);
                    let mask = _mm256_castsi256_ps(_mm256_cmpeq_epi32(bits, places));
                    _mm256_blendv_ps(clear, set, mask)
                };
                let [clear_low, clear_high]: [__m256; 2] = bytemuck::cast(*clear);
                let [set_low, set_high]: [__m256; 2] = bytemuck::cast(*set);
                let low = choose(bits, clear_low, set_low);
                bytemuck::cast([low, choose(bits >> 8, clear_high, set_high)])
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Both([f32; 16], u16);

    impl Work for Both {
        type Made = (u16, [f32; 16]);

        #[inline(always)]
        fn run<const FMA: bool>(self, signs: impl Signs, blend: impl Blend) -> (u16, [f32; 16]) {
            (signs(&self.0), blend(self.1, &[1.0; 16], &std::array::from_fn(|at| at as f32)))
        }
    }

    #[test]
    fn signs_are_those_not_above_zero_and_bits_choose_at_every_level() {
        let mut x = [1.0; 16];
        (x[0], x[3], x[7], x[8], x[15]) = (-1.0, -0.0, f32::NAN, -1e-40, f32::NEG_INFINITY);
        for level in Simd::ALL.into_iter().filter(|level| level.is_here()) {
            let (signs, chosen) = level.run(Both(x, 0x8125));
            assert_eq!(signs, 1 | 1 << 3 | 1 << 8 | 1 << 15, "{level:?}");
            let wanted = [0, 1, 2, 1, 1, 5, 1, 1, 8, 1, 1, 1, 1, 1, 1, 15].map(|at| at as f32);
            assert_eq!(chosen, wanted, "{level:?}");
        }
    }
}
