/** Queues and exchanges that can't be used. */
import { errorTable } from '../../base/errors.js';

export const rabbitErrors = errorTable('rabbitmq', {
  noQueue: ['config', 'a rabbitmq source needs property queue or exchange, or a DATASOURCE with the queue'],
  connection: ['connection', (reason: string) => reason],
});
