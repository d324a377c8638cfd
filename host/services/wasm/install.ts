/** What a module of a request becomes: a folder with its files, and a record. Loaded with the first module. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { maskByName } from '../../base/fields/secret-fields.js';
import { zipOf } from '../../base/files/zip.js';
import type { PackageFolders } from '../../meta/packages/packages.js';
import type { WasiGrants } from '../../plugins/define.js';
import { defaultLimits } from '../../plugins/wasm/binary/limits.js';
import { describeModule } from '../../plugins/wasm/exports/describe.js';
import { withManifest } from '../../plugins/wasm/exports/embed.js';
import { packFiles, unpackFiles } from '../../plugins/wasm/guest/files/tree.js';
import { prepareWithin } from '../../plugins/wasm/prepare/within.js';
import { bodyErrors } from '../errors/body.js';
import { installErrors } from '../errors/installed.js';
import type { ResourceFiles } from '../files/resource-files.js';
import { callLimitsOf, type WasmConfig } from './limits.js';
import { filesFolder, type GivenModule, moduleOf } from './module.js';
import { grantsOf, moduleLimitsOf, ownLimitsOf } from './options.js';
import type { DescribedWasmPlugin, FolderModule, WasmRecord } from './record.js';

interface Installation {
  readonly name: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** Module of the data folder, in place of one in the request. */
  readonly own: FolderModule | undefined;
  readonly config: WasmConfig;
  readonly files: ResourceFiles;
  readonly folders: PackageFolders;
}

/** Reads a request and writes the files of the plugin; resolves with its record and with warnings about the module. */
export async function installed({
  name,
  body,
  own,
  config,
  files: resources,
  folders,
}: Installation): Promise<{ record: WasmRecord; warnings: readonly string[] }> {
  const { isolate } = body;
  if (isolate !== undefined && isolate !== null && typeof isolate !== 'boolean') {
    throw bodyErrors.notBoolean('isolate');
  }
  const limits = ownLimitsOf(body, config);
  const wasi = grantsOf(body);
  const given: GivenModule =
    own === undefined ? await moduleOf(name, body, config, resources) : { file: '', bytes: own.bytes };
  const { bytes, file, beside, files } = given;
  const most = moduleLimitsOf(limits, config, defaultLimits);
  const prepared = await prepareWithin(config.prepareTimeout, { bytes, beside, limits: most });
  const { ready, manifest, others, isProgram, warnings } = prepared;
  const functions = manifest.functions.map((one) => one.name);
  if (functions.length === 0 && (manifest.codecs ?? []).length === 0 && !isProgram) {
    const why = others.map(([other, reason]) => ` (${other}: ${reason})`).join('');
    throw installErrors.noFunctions(why);
  }
  const folder = await folders.add(name, async (path) => {
    await mkdir(path);
    await writeFile(join(path, `${name}.wasm`), beside === undefined ? bytes : withManifest(bytes, beside));
    await writeFile(join(path, `${name}.metered.wasm`), ready);
    if (files !== undefined) await writeFile(join(path, `${name}.files`), packFiles(files));
  });
  const record = {
    file,
    functions,
    manifest,
    folder,
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(wasi === undefined ? {} : { wasi }),
    ...(typeof isolate === 'boolean' ? { isolate } : {}),
    ...(files === undefined ? {} : { files: files.length }),
    ...(isProgram ? { program: true } : {}),
    ...(own === undefined ? {} : { ofFolder: own.checksum }),
  };
  return { record, warnings };
}

/** Describes a plugin: its module as it was sent, its limits, and the files that it sees. */
export async function described(
  path: string,
  name: string,
  { file, limits = {}, wasi = {}, isolate, files }: WasmRecord,
  config: WasmConfig,
): Promise<Omit<DescribedWasmPlugin, 'name' | 'functions' | 'memoryBytes'>> {
  const { callFuel, batchFuel } = callLimitsOf(limits, config);
  const maxMemoryBytes = limits.maxMemoryBytes ?? config.maxMemoryBytes;
  const seen = files === undefined ? [] : await filesIn(path, name);
  return {
    file,
    ...describeModule(await readFile(join(path, `${name}.wasm`))),
    limits: { maxMemoryBytes, callFuel: Number(callFuel), batchFuel: Number(batchFuel) },
    wasi: maskByName(wasi) as WasiGrants,
    isolate: isolate ?? config.isolate,
    ...(files !== undefined && { files: seen.map((one) => ({ path: one.path, sizeBytes: one.bytes.length })) }),
  };
}

/** The bytes that install a plugin again: its module, or an archive of that and its files. */
export async function bytesOf(path: string, name: string, hasFiles: boolean): Promise<Buffer> {
  const bytes = await readFile(join(path, `${name}.wasm`));
  if (!hasFiles) return bytes;
  const files = await filesIn(path, name);
  const own = files.map((file) => ({ name: filesFolder + file.path, bytes: file.bytes }));
  return zipOf([{ name: `${name}.wasm`, bytes }, ...own]);
}

async function filesIn(path: string, name: string) {
  return unpackFiles(await readFile(join(path, `${name}.files`)));
}
