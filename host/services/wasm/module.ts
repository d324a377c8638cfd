/** Where the module of a request comes from: bytes of the body, a file, an archive. */

import type { Archive } from '../../base/files/archive.js';
import type { GivenFile } from '../../plugins/wasm/guest/files/tree.js';
import { bytesOf, textOf } from '../body/fields.js';
import { bodyErrors } from '../errors/body.js';
import { moduleErrors } from '../errors/wasm.js';
import { withArchive } from '../files/archives.js';
import { isZip, type ResourceFiles, readResource } from '../files/resource-files.js';
import type { WasmConfig } from './limits.js';

export interface GivenModule {
  /** URI of the module; empty when the bytes came with the request. */
  readonly file: string;
  readonly bytes: Buffer;
  /** The JSON text that stands beside the module in an archive. */
  readonly beside?: string;
  /** Files that the module is to see: those below `files/` in an archive. */
  readonly files?: readonly GivenFile[];
}

type Bounds = Pick<WasmConfig, 'maxModuleBytes' | 'maxFiles' | 'maxFilesBytes'>;

/** Longest text beside a module, bytes. */
const maxManifestBytes = 1 << 20;
/** Beside its files an archive has a module and little else: its source, a licence. */
const maxOtherEntries = 1000;
/** Folder of the files that the module sees. */
export const filesFolder = 'files/';

/** Takes the module of a body with `file` or `bytecode`. */
export async function moduleOf(
  name: string,
  body: Readonly<Record<string, unknown>>,
  bounds: Bounds,
  files: ResourceFiles,
): Promise<GivenModule> {
  const file = textOf(body, 'file');
  const bytecode = bytesOf(body, 'bytecode');
  if (file !== '' && bytecode.length > 0) {
    throw bodyErrors.bothOf('file', 'bytecode');
  }
  if (file === '' && bytecode.length === 0) {
    throw bodyErrors.missingOf('file', 'bytecode');
  }
  // A longer file can't have an allowed module: an archive is shorter than its content.
  const longest = bounds.maxModuleBytes + bounds.maxFilesBytes + maxManifestBytes;
  const given = file === '' ? bytecode : await readResource(file, files, longest);
  return { file, ...(isZip(given) ? await fromArchive(name, given, bounds) : { bytes: given }) };
}

function fromArchive(name: string, archive: Buffer, bounds: Bounds): Promise<Omit<GivenModule, 'file'>> {
  const { maxModuleBytes, maxFiles, maxFilesBytes } = bounds;
  // The bounds of files are looked at below, so that the error has the name of the setting.
  const limits = {
    maxEntries: maxOtherEntries + 10 * maxFiles,
    maxEntryBytes: Math.max(maxModuleBytes, 2 * maxFilesBytes),
    maxTotalBytes: 2 * (maxModuleBytes + maxFilesBytes),
  };
  return withArchive(
    archive,
    async (opened) => {
      const path = moduleIn(name, opened);
      const manifestPath = path.replace(/wasm$/i, 'json');
      const manifest = opened.entries.find((entry) => entry.name === manifestPath && !entry.isFolder);
      const size = opened.entries.find((entry) => entry.name === path)?.sizeBytes ?? 0;
      if (size > maxModuleBytes) throw moduleErrors.size(size, maxModuleBytes);
      const files = await filesOf(opened, bounds);
      const bytes = await opened.read(path);
      const own = { bytes, ...(files.length > 0 && { files }) };
      if (manifest === undefined) return own;
      if (manifest.sizeBytes > maxManifestBytes) {
        throw moduleErrors.manifestSize(manifestPath, maxManifestBytes);
      }
      return { ...own, beside: (await opened.read(manifestPath)).toString() };
    },
    limits,
  );
}

/** Files for the module; throws with the name of the first that is too much. */
async function filesOf(archive: Archive, { maxFiles, maxFilesBytes }: Bounds): Promise<GivenFile[]> {
  const entries = archive.entries.filter(({ name, isFolder }) => !isFolder && name.startsWith(filesFolder));
  let bytes = 0;
  entries.forEach(({ name, sizeBytes }, i) => {
    if (i >= maxFiles) throw moduleErrors.tooManyFiles(name, maxFiles);
    bytes += sizeBytes;
    if (bytes > maxFilesBytes) throw moduleErrors.filesSize(name, bytes, maxFilesBytes);
  });
  const files: GivenFile[] = [];
  for (const { name } of entries) files.push({ path: name.slice(filesFolder.length), bytes: await archive.read(name) });
  return files;
}

/** Path of the module in an archive: that of the plugin's name, or the only one. */
function moduleIn(name: string, { entries }: Archive): string {
  const found = entries
    .filter(({ name: path, isFolder }) => !isFolder && /\.wasm$/i.test(path) && !path.startsWith(filesFolder))
    .map((entry) => entry.name);
  const [only, other] = found;
  if (only === undefined) throw moduleErrors.noModule();
  if (other === undefined) return only;
  const own = found.find((path) => path === `${name}.wasm`);
  if (own !== undefined) return own;
  const some = found.slice(0, 5).join(', ');
  throw moduleErrors.severalModules(some, name);
}
