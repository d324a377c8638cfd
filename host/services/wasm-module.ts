/** Where the module of a request comes from: bytes of the body, a file, an archive. */

import { HaumeaError } from '../base/errors.js';
import type { Archive } from '../base/files/archive.js';
import { withArchive } from './archives.js';
import { bytesOf, isZip, type ResourceFiles, readResource, textOf } from './resource-files.js';

export interface GivenModule {
  /** URI it was made of; empty when the bytes came with the request. */
  readonly file: string;
  readonly bytes: Buffer;
  /** The JSON text that stands beside the module in an archive. */
  readonly beside?: string;
}

/** Longest text beside a module, bytes. */
const maxManifestBytes = 1 << 20;
/** Archives hold a module and little else: its source, a licence. */
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
    throw new HaumeaError('general', 'invalid body: file and bytecode are both given, only one is allowed');
  }
  if (file === '' && bytecode.length === 0) {
    throw new HaumeaError('general', 'invalid body: file or bytecode is required');
  }
  // What is longer can't hold a module that is allowed: an archive is shorter than what is in it.
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
        throw new HaumeaError(
          'general',
          `invalid zip archive: ${manifestPath} has more than ${maxManifestBytes} bytes`,
        );
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
  if (only === undefined) throw new HaumeaError('general', 'the archive has no file that ends with .wasm');
  if (other === undefined) return only;
  const own = found.find((path) => path === `${name}.wasm`);
  if (own !== undefined) return own;
  const some = found.slice(0, 5).join(', ');
  throw new HaumeaError('general', `the archive has several modules (${some}), but no file ${name}.wasm at its root`);
}
