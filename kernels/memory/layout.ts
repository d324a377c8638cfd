/** Blocks in the layouts that the kernel reads, written by the names of their fields. */

type FieldType = 'u8' | 'i8' | 'u16' | 'u32' | 'i32' | 'u64' | 'i64' | 'f64';

/** Offsets of the fields of a block; `types` has the fields that the host writes. */
export interface Layout<At extends Record<string, number>, Types extends object> {
  /** Bytes of the block. */
  readonly size: number;
  readonly at: At;
  readonly types: Types;
}

/** Offset of a field, with its type when the host writes it. */
type Field = number | readonly [at: number, type: FieldType];

type At<Fields> = { readonly [Name in keyof Fields]: number };

type Types<Fields> = {
  readonly [Name in keyof Fields as Fields[Name] extends number ? never : Name]: TypeOf<Fields[Name]>;
};

type TypeOf<One> = One extends readonly [number, infer Type extends FieldType] ? Type : never;

/** Each field is named once: all layouts are read at each start. */
export function layout<const Fields extends Readonly<Record<string, Field>>>(
  size: number,
  fields: Fields,
): Layout<At<Fields>, Types<Fields>> {
  const at: Record<string, number> = {};
  const types: Record<string, FieldType> = {};
  for (const [name, field] of Object.entries(fields)) {
    if (typeof field === 'number') at[name] = field;
    else [at[name], types[name]] = field;
  }
  return { size, at: at as At<Fields>, types: types as Types<Fields> };
}

type Values<Types> = { readonly [K in keyof Types]: Types[K] extends 'u64' | 'i64' ? bigint : number };

const ranges: Record<Exclude<FieldType, 'f64'>, readonly [least: number | bigint, most: number | bigint]> = {
  u8: [0, 0xff],
  i8: [-0x80, 0x7f],
  u16: [0, 0xffff],
  u32: [0, 0xffffffff],
  i32: [-0x80000000, 0x7fffffff],
  u64: [0n, 2n ** 64n - 1n],
  i64: [-(2n ** 63n), 2n ** 63n - 1n],
};

/** Writes all fields of the block that begins at `base`. Throws RangeError when a number does not fit its field. */
export function put<At extends Record<string, number>, Types extends object>(
  view: DataView,
  base: number,
  { at, types }: Layout<At, Types>,
  values: Values<Types>,
): void {
  for (const name in types) {
    const type = types[name] as FieldType;
    const to = base + (at[name] as number);
    const value = values[name as keyof Types] as number | bigint;
    if (type === 'f64') {
      view.setFloat64(to, value as number, true);
      continue;
    }
    const [least, most] = ranges[type];
    if (!(value >= least && value <= most)) throw new RangeError(`${name}: ${value} does not fit ${type}`);
    switch (type) {
      case 'u8':
        view.setUint8(to, value as number);
        break;
      case 'i8':
        view.setInt8(to, value as number);
        break;
      case 'u16':
        view.setUint16(to, value as number, true);
        break;
      case 'u32':
        view.setUint32(to, value as number, true);
        break;
      case 'i32':
        view.setInt32(to, value as number, true);
        break;
      case 'u64':
        view.setBigUint64(to, value as bigint, true);
        break;
      default:
        view.setBigInt64(to, value as bigint, true);
    }
  }
}

/** A block of its own with these fields. Throws RangeError when a number does not fit its field. */
export function block<At extends Record<string, number>, Types extends object>(
  of: Layout<At, Types>,
  values: Values<Types>,
): Buffer {
  const bytes = Buffer.alloc(of.size);
  put(new DataView(bytes.buffer, bytes.byteOffset), 0, of, values);
  return bytes;
}

/** As `block`, with operands of 16 bits behind the fields; its size is a multiple of four. */
export function blockWithOperands<At extends Record<string, number>, Types extends object>(
  of: Layout<At, Types>,
  values: Values<Types>,
  operands: readonly number[],
): Buffer {
  const bytes = Buffer.alloc((of.size + 2 * operands.length + 3) & ~3);
  put(new DataView(bytes.buffer, bytes.byteOffset), 0, of, values);
  operands.forEach((operand, i) => {
    bytes.writeUInt16LE(operand, of.size + 2 * i);
  });
  return bytes;
}
