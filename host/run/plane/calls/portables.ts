/** The portable plugins of a data plane, which few have: what runs them is loaded at first use. */
import { reasonOf } from '../../../base/errors.js';
import type { Logger } from '../../../base/log/log.js';
import type { PortableCode, PortableUse } from '../../../plugins/portable/code.js';
import type { PortablePlugins, PortableUser } from '../../../plugins/portable/plugins.js';
import type { CodeWatch } from './code-watch.js';

interface PortablesHost {
  readonly log: Logger;
  readonly codeWatch: Pick<CodeWatch, 'hostOf'>;
  shared<T>(key: string, make: () => T): T;
}

export class Portables {
  #plugins: PortablePlugins | undefined;

  constructor(private readonly host: PortablesHost) {}

  /** Loads what runs them. */
  async load(): Promise<PortablePlugins> {
    const { PortablePlugins, portablePluginsKey } = await import('../../../plugins/portable/plugins.js');
    const { host } = this;
    const make = () =>
      new PortablePlugins(
        (owner) => host.codeWatch.hostOf(owner),
        (line) => host.log.warn(line),
      );
    this.#plugins ??= host.shared(portablePluginsKey, make);
    return this.#plugins;
  }

  /** Sources and sinks of plugins become connectors. */
  async connect(codes: readonly PortableCode[]): Promise<void> {
    await this.load();
    const { addPlugin } = await import('../../../connectors/portable/manifests.js');
    for (const code of codes) addPlugin(code);
  }

  /** A plugin has a new program, or none. */
  async replace(name: string, code: PortableCode | null): Promise<void> {
    await this.#plugins?.replace(name, code);
  }

  /** Those that were started, with the rules that use them. */
  uses(rules: Iterable<PortableUser>): PortableUse[] {
    return this.#plugins?.uses(rules) ?? [];
  }

  /** Functions of a plugin that take groups, or why it does not tell. */
  async aggregatesOf(code: PortableCode): Promise<string[] | { reason: string }> {
    const plugins = await this.load();
    return plugins.aggregatesOf(code).catch((error: unknown) => ({ reason: reasonOf(error) }));
  }

  async close(): Promise<void> {
    await this.#plugins?.close();
  }
}
