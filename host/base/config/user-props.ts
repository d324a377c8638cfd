/**
 * Properties that the owner of the machine gives to rules: `KUIPER_PROPS_VIN=x` is the property `vin` of the SQL
 * function `props` and of `{{prop "vin"}}` in data templates. Two names are built in: `et` is the time in milliseconds,
 * `snowflake` a number that grows and never comes twice.
 */

const prefix = 'KUIPER_PROPS_';
/** Begin of the times in snowflake numbers, epoch milliseconds. */
const snowflakeEpoch = 1_288_834_974_657;
/** Place of the maker, of which there is one, above twelve bits that count within a millisecond. */
const snowflakeNode = 1n << 12n;
const countBits = 0xfff;

/** Read once: the environment of a process does not change by itself. */
const properties = userProperties(process.env);

/** Collects the properties of an environment by their names, which are in lower case. */
export function userProperties(env: Readonly<Record<string, string | undefined>>): Map<string, string> {
  const found = new Map<string, string>();
  for (const [variable, value] of Object.entries(env)) {
    if (variable.startsWith(prefix) && value !== undefined)
      found.set(variable.slice(prefix.length).toLowerCase(), value);
  }
  return found;
}

/** Returns a property, or undefined when nobody has set it. */
export function userProperty(name: string): string | undefined {
  if (name === 'et') return String(Date.now());
  return name === 'snowflake' ? nextSnowflake() : properties.get(name);
}

let last = { ms: 0, count: 0 };

function nextSnowflake(): string {
  // When a millisecond has no numbers left, or the clock goes back, the next millisecond is taken early.
  const now = Math.max(Date.now(), last.ms);
  const count = now === last.ms ? (last.count + 1) & countBits : 0;
  last = { ms: now === last.ms && count === 0 ? now + 1 : now, count };
  return String((BigInt(last.ms - snowflakeEpoch) << 22n) | snowflakeNode | BigInt(count));
}
