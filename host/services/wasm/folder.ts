/**
 * Modules that lie in the folder `plugins/wasm` of the data folder: each is a plugin of its name, installed at the
 * start when it is new or another one than before, taken away when it is gone.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { reasonOf } from '../../base/errors.js';
import type { Logger } from '../../base/log/log.js';
import { checkId } from '../../meta/ids.js';
import { moduleErrors } from '../errors/wasm.js';
import type { WasmPlugins } from './plugins.js';

const ending = '.wasm';

export interface WasmFolder {
  readonly data: string;
  readonly maxBytes: number;
  /** Other nodes of a cluster have folders of their own: a plugin stays whose file this one has not. */
  readonly isOfNode: boolean;
  readonly log: Logger;
}

/** Brings the plugins in line with the folder; a file that is no module is logged and skipped. */
export async function loadWasmFolder(
  plugins: WasmPlugins,
  { data, maxBytes, isOfNode, log }: WasmFolder,
): Promise<void> {
  const folder = join(data, 'plugins', 'wasm');
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => !entry.isDirectory() && entry.name.endsWith(ending)).map(({ name }) => name);
  const checksums = plugins.checksums();
  for (const file of files.sort()) {
    const name = file.slice(0, -ending.length);
    try {
      await loadFile(
        join(folder, file),
        name,
        maxBytes,
        checksums.has(name) ? checksums.get(name) : null,
        plugins,
        log,
      );
    } catch (error) {
      log.error(`plugins/wasm/${file} is not loaded: ${reasonOf(error)}`);
    }
  }
  for (const [name, checksum] of isOfNode ? [] : checksums) {
    if (checksum === undefined || files.includes(name + ending)) continue;
    await plugins.delete(name).then(
      () => log.info(`wasm plugin ${name} is gone with its file plugins/wasm/${name}${ending}`),
      (error: unknown) => log.error(`wasm plugin ${name}, whose file is gone, stays: ${reasonOf(error)}`),
    );
  }
}

/**
 * @param known checksum of the file that the plugin of this name was made of; undefined when a request brought it, null
 * without one
 */
async function loadFile(
  path: string,
  name: string,
  maxBytes: number,
  known: string | undefined | null,
  plugins: WasmPlugins,
  log: Logger,
): Promise<void> {
  checkId(name);
  if (known === undefined) throw moduleErrors.installedByOther(name);
  const { size } = await stat(path);
  if (size > maxBytes) throw moduleErrors.size(size, maxBytes);
  const bytes = await readFile(path);
  const checksum = createHash('sha256').update(bytes).digest('hex');
  if (checksum === known) return;
  const { warnings } = await plugins.putOfFolder(name, { bytes, checksum });
  log.info(`wasm plugin ${name} is loaded from plugins/wasm/${name}${ending}`);
  for (const warning of warnings) log.warn(`wasm plugin ${name}: ${warning}`);
}
