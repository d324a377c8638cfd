/** Everything REST handlers may call. */
import type { ConfKeyService } from './conf-keys.js';
import type { RuleService } from './rules.js';
import type { SourceService } from './sources.js';
import type { SystemService } from './system.js';

export interface Services {
  readonly system: SystemService;
  readonly sources: SourceService;
  readonly confKeys: ConfKeyService;
  readonly rules: RuleService;
}
