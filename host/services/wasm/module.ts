/** Where the module of a request comes from: bytes of the body, a file, an archive. */

import type { Archive } from '../../base/files/archive.js';
import { bytesOf, textOf } from '../body/fields.js';
import { bodyErrors } from '../errors/body.js';
import { moduleErrors } from '../errors/wasm.js';
import { withArchive } from '../files/archives.js';
import { isZip, type ResourceFiles, readResource } from '../files/resource-files.js';

export interface GivenModule {
  /** URI of the module; empty when the bytes came with the request. */
  readonly file: string;
  readonly bytes: Buffer;
  /** The JSON text that stands beside the module in an archive. */
  readonly beside?: string;
}

/** Longest text beside a module, bytes. */
const maxManifestBytes = 1 << 20;
/** Archives have a module and little else: its source, a licence. */
const maxArchiveEntries = 1000;

/** Takes the module of a body with `file` or `bytecode`; `maxBytes` is the longest. */
export async function moduleOf(
  name: string,
  body: Readonly<Record<string, unknown>>,
  maxBytes: number,
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
  const given = file === '' ? bytecode : await readResource(file, files, maxBytes + maxManifestBytes);
  return { file, ...(isZip(given) ? await fromArchive(name, given, maxBytes) : { bytes: given }) };
}

function fromArchive(name: string, archive: Buffer, maxBytes: number): Promise<Pick<GivenModule, 'bytes' | 'beside'>> {
  const limits = { maxEntries: maxArchiveEntries, maxEntryBytes: maxBytes, maxTotalBytes: 2 * maxBytes };
  return withArchive(
    archive,
    async (opened) => {
      const path = moduleIn(name, opened);
      const manifestPath = path.replace(/wasm$/i, 'json');
      const manifest = opened.entries.find((entry) => entry.name === manifestPath && !entry.isFolder);
      const bytes = await opened.read(path);
      if (manifest === undefined) return { bytes };
      if (manifest.sizeBytes > maxManifestBytes) {
        throw moduleErrors.manifestSize(manifestPath, maxManifestBytes);
      }
      return { bytes, beside: (await opened.read(manifestPath)).toString() };
    },
    limits,
  );
}

/** Path of the module in an archive: that of the plugin's name, or the only one. */
function moduleIn(name: string, { entries }: Archive): string {
  const found = entries.filter((entry) => !entry.isFolder && /\.wasm$/i.test(entry.name)).map((entry) => entry.name);
  const [only, other] = found;
  if (only === undefined) throw moduleErrors.noModule();
  if (other === undefined) return only;
  const own = found.find((path) => path === `${name}.wasm`);
  if (own !== undefined) return own;
  const some = found.slice(0, 5).join(', ');
  throw moduleErrors.severalModules(some, name);
}
