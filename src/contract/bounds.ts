export const maxBodyBytes = 16_384;

/** Maximum size of a sign-in body in bytes. The limit is low because anyone can send such bodies. */
export const maxSignInBytes = 1_024;

export const maxUploadBytes = 1_073_741_824;

/** Maximum size of an import preview in bytes. */
export const maxPreviewBytes = 65_536;

/** Maximum number of details in an error response. A 16 KiB request could cause thousands. */
export const maxDetails = 20;
/** Maximum length of a name in an error response, in UTF-16 code units. Longer names are truncated. */
export const maxNameLength = 64;

/** Maximum number of webhooks per account. */
export const maxWebhooks = 16;

/** Maximum length of a cursor that the service creates, in characters: that of a list ordered by name. */
export const maxCursorLength = 1_440;
