/** What stands between the sink of a rule and its connector: what the connector asks of the rule goes through it. */
import type { AllowedPaths } from '../../../../base/files/allowed-paths.js';
import type { Logger } from '../../../../base/log/log.js';
import type { SinkContext } from '../../../../connectors/running.js';

export abstract class InBetween<Host extends SinkContext> {
  constructor(readonly host: Host) {}

  get ruleId(): string {
    return this.host.ruleId;
  }

  get dynamic(): ReadonlySet<string> {
    return this.host.dynamic;
  }

  get hasHeaders(): boolean {
    return this.host.hasHeaders === true;
  }

  get log(): Logger {
    return this.host.log;
  }

  get paths(): AllowedPaths {
    return this.host.paths;
  }

  shared<T>(key: string, make: () => T): T {
    return this.host.shared(key, make);
  }
}
