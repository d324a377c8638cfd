/** Types of protobuf messages, as schemas declare them and the kernel needs them. */
export type { MessageField, MessageType, MessageTypes } from '../../kernels/plan/message-types.js';
