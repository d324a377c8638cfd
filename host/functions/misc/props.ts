import { userProperty } from '../../base/config/user-props.js';
import { defineFunction, perRow } from '../define.js';

export default defineFunction({
  name: 'props',
  // The built-in properties change.
  isVolatile: true,
  category: 'misc',
  args: [{ name: 'name', type: 'string' }],
  returns: 'string',
  nulls: 'propagate',
  doc:
    'A property set by the owner of the machine: the environment variable KUIPER_PROPS_<name>; et is the time in ' +
    'milliseconds, snowflake a new unique number.',
  example: "props('vin')",
  call: perRow('propagate', (name) => {
    if (typeof name !== 'string')
      throw new Error(`invalid input ${String(name)}: must be property name of string type`);
    const value = userProperty(name);
    if (value === undefined) throw new Error(`property ${name} is not set`);
    return value;
  }),
});
