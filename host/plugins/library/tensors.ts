/** Lists of numbers as tensors of the runtime of ONNX, and back. */
import type { Value } from '../../../kernels/values/value.js';
import { shortest } from '../../base/bytes/short-floats.js';

type Data = Float32Array | Float64Array | Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array;
type Data64 = BigInt64Array | BigUint64Array;

export interface Tensor {
  readonly type: string;
  readonly data: Data | Data64 | readonly string[];
}

/** What is known of an input before it runs; a side that the model leaves open has a name. */
export interface InputForm {
  readonly isTensor: boolean;
  readonly type?: string;
  readonly shape?: readonly (number | string)[];
}

export interface Session {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  readonly inputMetadata: readonly InputForm[];
  run(feeds: Readonly<Record<string, Tensor>>): Promise<Readonly<Record<string, Tensor>>>;
  release(): Promise<void>;
}

/** The part of the package that is used. */
export interface Runtime {
  readonly env: { readonly wasm: { numThreads?: number }; logLevel?: string };
  readonly InferenceSession: { create(model: Uint8Array, options: object): Promise<Session> };
  readonly Tensor: new (type: string, data: Data | Data64, dims: readonly number[]) => Tensor;
}

const arrays = {
  float32: Float32Array,
  float64: Float64Array,
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  bool: Uint8Array,
} as const;

/** Most elements of a tensor. */
const maxElements = 1 << 26;

/** @param place of the argument, for errors */
export function tensorOf(runtime: Runtime, form: InputForm | undefined, input: Value, place: number): Tensor {
  const { type = '', shape = [] } = form ?? {};
  const items = itemsOf(input, place);
  const dims = dimsOf(shape, items.length, place);
  if (type === 'int64' || type === 'uint64') {
    const made = type === 'int64' ? new BigInt64Array(items.length) : new BigUint64Array(items.length);
    for (const [i, item] of items.entries()) made[i] = integerOf(item, place);
    return new runtime.Tensor(type, made, dims);
  }
  const ArrayOf = Object.hasOwn(arrays, type) ? arrays[type as keyof typeof arrays] : undefined;
  if (ArrayOf === undefined) throw new Error(`argument ${place}: tensors of type ${type} are not supported`);
  const made = new ArrayOf(items.length);
  for (const [i, item] of items.entries()) made[i] = numberOf(item, place);
  return new runtime.Tensor(type, made, dims);
}

/** A list, also one of lists; bytes are numbers. */
function itemsOf(input: Value, place: number): ArrayLike<Value> & { entries(): Iterable<[number, Value]> } {
  if (input instanceof Uint8Array) return input;
  if (!Array.isArray(input)) throw new Error(`argument ${place} must be a list of numbers`);
  return input.some(Array.isArray) ? (input.flat(8) as Value[]) : input;
}

/** Sides of the tensor: the ones that the model leaves open follow from the number of elements. */
function dimsOf(shape: readonly (number | string)[], count: number, place: number): number[] {
  const known = shape.reduce<number>((product, side) => product * (isKnown(side) ? side : 1), 1);
  const open = shape.filter((side) => !isKnown(side)).length;
  const rest = open === 0 ? 1 : count / known;
  if (!Number.isInteger(rest) || known * rest !== count || count > maxElements) {
    throw new Error(`argument ${place} must have ${known}${open === 0 ? '' : ' times n'} elements but has ${count}`);
  }
  let isFirst = true;
  return shape.map((side) => {
    if (isKnown(side)) return side;
    const own = isFirst ? rest : 1;
    isFirst = false;
    return own;
  });
}

function isKnown(side: number | string): side is number {
  return typeof side === 'number' && side >= 0;
}

function numberOf(item: Value, place: number): number {
  if (typeof item === 'number') return item;
  if (typeof item === 'bigint') return Number(item);
  if (typeof item === 'boolean') return item ? 1 : 0;
  throw new Error(`argument ${place} has an element that is no number`);
}

function integerOf(item: Value, place: number): bigint {
  const number = typeof item === 'bigint' ? item : numberOf(item, place);
  if (typeof number === 'number' && !Number.isSafeInteger(number)) {
    throw new Error(`argument ${place} has an element that is no integer`);
  }
  return BigInt.asIntN(64, BigInt(number));
}

/** Elements of a tensor, one after the other whatever its sides are. */
export function valuesOf(tensor: Tensor | undefined): Value[] {
  if (tensor === undefined) return [];
  const { type, data } = tensor;
  if (type === 'bool') return Array.from(data as Uint8Array, (one) => one !== 0);
  if (type === 'float32') return Array.from(data as Float32Array, shortest);
  if (type === 'uint64') return Array.from(data as BigUint64Array, (one) => BigInt.asIntN(64, one));
  return Array.from(data as ArrayLike<number | bigint | string>);
}
