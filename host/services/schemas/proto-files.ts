/** Reads the files of a protobuf schema and finds messages in it. */
import type { Root, Service, Type } from 'protobufjs';
import { reasonOf } from '../../base/errors.js';
import { latePackage } from '../../base/program/late-package.js';

/** A schema with what it may import. */
export interface ProtoSchema {
  /** Text of the main file. */
  readonly content: string;
  /** The text of an imported file; undefined where there is none of the name. Throws for one that must not be read. */
  readonly imported: (path: string) => string | undefined;
}

const library = latePackage<typeof import('protobufjs')>('protobufjs');
const mainFile = 'schema';
/** How the library says that there is no further token. */
const endOfText = /illegal (?:token|end of input) 'null'/;

/** The types of a schema. Throws an Error that says what is wrong with its files. */
export function readSchema({ content, imported }: ProtoSchema): Root {
  const protobuf = library();
  const root = new protobuf.Root();
  const seen = new Set<string>();
  const add = (text: string, file: string): void => {
    // Parsed objects remember it.
    Object.assign(protobuf.parse, { filename: file });
    const { imports = [], weakImports = [] } = protobuf.parse(text, root, { keepCase: true });
    for (const path of [...imports, ...weakImports]) {
      if (seen.has(path)) continue;
      seen.add(path);
      const common = protobuf.common.get(path);
      if (common !== null) {
        root.addJSON(common.nested ?? {});
        continue;
      }
      const found = imported(path);
      if (found === undefined) throw new Error(`the import ${path} is not there`);
      add(found, path);
    }
  };
  try {
    add(content, mainFile);
  } catch (error) {
    throw new Error(reasonOf(error).replace(endOfText, 'the text ends too early'), { cause: error });
  }
  root.resolveAll();
  return root;
}

/**
 * The message of a name, which may be without its package; those of the main file come first. Undefined: there is none.
 */
export function findMessage(root: Root, name: string): Type | undefined {
  const wanted = `.${name}`;
  const all = typesIn(root);
  return (
    all.find(({ fullName }) => fullName === wanted) ??
    all.find((type) => type.filename === mainFile && type.fullName.endsWith(wanted)) ??
    all.find(({ fullName }) => fullName.endsWith(wanted))
  );
}

/** The services of the main file. */
export function servicesIn(space: Root | Root['nestedArray'][number]): Service[] {
  if ('methodsArray' in space) return space.filename === mainFile ? [space as Service] : [];
  return 'nestedArray' in space ? (space as Root).nestedArray.flatMap(servicesIn) : [];
}

/** All messages in and below a namespace, outer ones first. */
function typesIn(space: Root | Type | Root['nestedArray'][number]): Type[] {
  if (!('nestedArray' in space)) return [];
  const nested = (space as Root).nestedArray;
  const types = nested.filter((one): one is Type => 'fieldsArray' in one);
  return [...types, ...nested.flatMap(typesIn)];
}
