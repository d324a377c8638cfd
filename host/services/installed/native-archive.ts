/** Reads the archive of a native plugin. */
import { textOf, textsOf } from '../body/fields.js';
import { bodyErrors } from '../errors/body.js';
import { installErrors } from '../errors/installed.js';
import { withArchive } from '../files/archives.js';
import { type ResourceFiles, readResource } from '../files/resource-files.js';
import type { NativeKind, NativeRecord } from './native-record.js';

/** The record of the plugin that a request names; throws when its archive lacks something. */
export async function readNative(
  part: NativeKind,
  name: string,
  body: Readonly<Record<string, unknown>>,
  files: ResourceFiles,
): Promise<NativeRecord> {
  const file = textOf(body, 'file');
  if (file === '') throw bodyErrors.missing('file');
  const shellParas = textsOf(body, 'shellParas');
  const given = textsOf(body, 'functions');
  const functions = part === 'functions' && given.length === 0 ? [name] : given;
  const version = await withArchive(await readResource(file, files), async ({ entries }) => {
    const library = entries.map((entry) => libraryOf(name, entry.name)).find((found) => found !== undefined);
    if (library === undefined) throw installErrors.noFile(`${name}.so`);
    if (part !== 'functions' && !entries.some((entry) => entry.name === `${name}.yaml`)) {
      throw installErrors.noFile(`${name}.yaml`);
    }
    return library;
  });
  return { file, version, shellParas, functions, folder: '' };
}

/** The version in the name of a library, `name@version.so`; undefined when this is not the library. */
function libraryOf(name: string, file: string): string | undefined {
  const match = /^(.+?)(?:@(.*))?\.so$/.exec(file);
  if (match === null) return undefined;
  const [, base = '', version = ''] = match;
  return base === name || base === name.charAt(0).toUpperCase() + name.slice(1) ? version : undefined;
}
