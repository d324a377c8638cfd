// Functions of angles. A value outside of their domain (arc sine of 2) gives null.
import { Tag } from '../../mem/layout';
import { plainError } from '../../value/error';
import { toF64 } from '../../value/number';
import { float1, float1OrNull, float2, giveNoNumber, isNumeric } from '../numeric';
import { give, giveF64, giveNull, map1 } from '../row-loops';
import { Operation } from '../../gen/ops-layouts';

const DEGREE: f64 = Math.PI / 180;

export function mathSin(op: Operation): void {
  float1OrNull(op, (x: f64): f64 => Math.sin(x));
}

export function mathCos(op: Operation): void {
  float1OrNull(op, (x: f64): f64 => Math.cos(x));
}

export function mathTan(op: Operation): void {
  float1OrNull(op, (x: f64): f64 => Math.tan(x));
}

export function mathCot(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => {
    if (isNumeric(tag)) {
      const x = toF64(tag, val);
      if (x == 0) give(Tag.ERROR, plainError('out-of-range error'));
      else if (isFinite(x)) giveF64(1 / Math.tan(x));
      else giveNull();
    } else {
      giveNoNumber(tag, val);
    }
  });
}

export function mathAsin(op: Operation): void {
  float1OrNull(op, (x: f64): f64 => Math.asin(x));
}

export function mathAcos(op: Operation): void {
  float1OrNull(op, (x: f64): f64 => Math.acos(x));
}

export function mathAtan(op: Operation): void {
  float1OrNull(op, (x: f64): f64 => Math.atan(x));
}

export function mathAtan2(op: Operation): void {
  float2(op, (y: f64, x: f64): f64 => Math.atan2(y, x));
}

export function mathSinh(op: Operation): void {
  float1OrNull(op, (x: f64): f64 => Math.sinh(x));
}

export function mathCosh(op: Operation): void {
  float1OrNull(op, (x: f64): f64 => Math.cosh(x));
}

export function mathTanh(op: Operation): void {
  float1OrNull(op, (x: f64): f64 => Math.tanh(x));
}

export function mathRadians(op: Operation): void {
  float1(op, (x: f64): f64 => x * DEGREE);
}

export function mathDegrees(op: Operation): void {
  float1(op, (x: f64): f64 => x * (180 / Math.PI));
}
