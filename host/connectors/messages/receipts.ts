/** Receipts that are owed to an MQTT broker, as numbers: a packet id, plus one of these flags for QoS 2. */

/** The message has come (PUBREC), as in assembly/source/framing/mqtt.ts. Without it: a message of QoS 1 (PUBACK). */
export const received = 0x10000;
/** The id is free (PUBCOMP). */
export const completed = 0x20000;

/** Packet id of a receipt. */
export function idIn(receipt: number): number {
  return receipt & 0xffff;
}
