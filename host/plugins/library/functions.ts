/**
 * Functions of the engine that need a package, and answer later: what users bring under their names takes their place.
 */
import type { Brought, LibraryCode, UserFunction } from '../define.js';
import { newUserNumber } from '../numbers.js';

interface LibraryFunction {
  /** Name in SQL. */
  readonly name: string;
  readonly library: LibraryCode['name'];
  readonly category: 'library';
  readonly args: readonly {
    readonly name: string;
    readonly type: string;
    readonly optional?: true;
    readonly variadic?: true;
  }[];
  readonly returns: string;
  readonly example: string;
  readonly doc: string;
  readonly implementation: object;
}

const library = { category: 'library', implementation: {} } as const;

export const libraryFunctions: readonly LibraryFunction[] = [
  {
    ...library,
    name: 'onnx',
    library: 'models',
    args: [
      { name: 'model', type: 'string' },
      { name: 'inputs', type: 'any', variadic: true },
    ],
    returns: 'array',
    example: "onnx('reading', list)",
    doc:
      'Outputs of a model of ONNX, a list of numbers for each, from a list of numbers for each of its inputs. The ' +
      'model `reading` is the uploaded file `reading.onnx`. Needs the package onnxruntime-web.',
  },
  {
    ...library,
    name: 'resize',
    library: 'images',
    args: [
      { name: 'image', type: 'any' },
      { name: 'width', type: 'int' },
      { name: 'height', type: 'int' },
      { name: 'raw', type: 'boolean', optional: true },
    ],
    returns: 'bytea',
    example: 'resize(self, 640, 480)',
    doc:
      'The image (PNG, JPEG or GIF) with this width and height; a 0 keeps their ratio. With true as the fourth ' +
      'argument its pixels: three bytes each, red, green and blue. Needs the package sharp.',
  },
  {
    ...library,
    name: 'thumbnail',
    library: 'images',
    args: [
      { name: 'image', type: 'any' },
      { name: 'maxWidth', type: 'int' },
      { name: 'maxHeight', type: 'int' },
    ],
    returns: 'bytea',
    example: 'thumbnail(self, 100, 100)',
    doc:
      'The image (PNG or JPEG) no wider and no higher than this, with its ratio; a smaller one stays as it is. Needs ' +
      'the package sharp.',
  },
];

const known = new Map<string, UserFunction>();

/** The function of this name in any letter case; `folder` has the uploaded files. */
export function findLibraryFunction(name: string, folder: string): Brought | undefined {
  const key = name.toLowerCase();
  const found = libraryFunctions.find((one) => one.name === key);
  if (found === undefined) return undefined;
  const owner = `library ${found.library}`;
  let run = known.get(key);
  if (run === undefined) {
    const code = { kind: 'library', name: found.library, version: 1, folder } as const;
    const number = newUserNumber(found.name);
    const isOpen = found.args.at(-1)?.variadic === true;
    const needed = found.args.filter(({ optional }) => optional !== true).length;
    const args = { min: needed, max: isOpen ? null : found.args.length };
    run = { name: found.name, owner, number, code, entry: found.name, isAggregate: false, args };
    known.set(key, run);
  }
  return { owner, run };
}
