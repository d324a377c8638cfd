/** When files are complete, and what they are: what the properties of a sink say of it. */

export interface RollProps {
  rollingSize: number;
  rollingInterval: number;
  rollingCount?: number | undefined;
  rollingNamePattern: '' | 'prefix' | 'suffix' | 'none';
  rollingHook: string;
  fileType: string;
  compression: string;
  encryption: string;
}

const usualCount = 1_000_000;

/** Messages of a file. A file that keeps its name has no bound but one that is given. */
export function rollingCountOf({ rollingCount, rollingNamePattern }: RollProps): number {
  return rollingCount ?? (rollingNamePattern === '' ? 0 : usualCount);
}

/** Files end while the rule runs. */
export function rolls(conf: RollProps): boolean {
  return conf.rollingSize > 0 || conf.rollingInterval > 0 || rollingCountOf(conf) > 0;
}

/** The file has a form of its own, or ends by more than its size. */
export function isRolled(conf: RollProps): boolean {
  if (['json', 'parquet'].includes(conf.fileType) || conf.compression !== '' || conf.encryption !== '') return true;
  if (conf.rollingNamePattern !== '' || conf.rollingHook !== '') return true;
  return conf.rollingInterval > 0 || rollingCountOf(conf) > 0;
}

/** Messages are told apart, by the unchecked properties of an action. */
export function isByMessage(props: Readonly<Record<string, unknown>>): boolean {
  const { fileType, rollingCount, rollingNamePattern } = props;
  if (typeof fileType === 'string' && fileType.toLowerCase() === 'json') return true;
  if (rollingCount !== undefined && rollingCount !== null) return Number(rollingCount) !== 0;
  return rollingNamePattern !== undefined && rollingNamePattern !== null && rollingNamePattern !== '';
}
