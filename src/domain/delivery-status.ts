/** A delivery is `pending` until the receiver accepts the event or the last attempt fails. */
export const deliveryStatuses = ['pending', 'succeeded', 'failed'] as const;

export type DeliveryStatus = (typeof deliveryStatuses)[number];
