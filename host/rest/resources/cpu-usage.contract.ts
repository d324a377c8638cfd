/** What the routes of cpu usage take and give. */
import { defineContracts, either, gives, integer, map, string } from '../route/contract.js';

export const cpuUsage = defineContracts({
  'GET /rules/usage/cpu': gives(either(map(integer), string)),
});
