/** What the routes of tables take and give. */
import { defineContracts } from '../route/contract.js';
import { sourceContracts } from './streams.contract.js';

export const tables = defineContracts(sourceContracts('tables', 'tabledetails', { kind: 'scan or lookup' }));
