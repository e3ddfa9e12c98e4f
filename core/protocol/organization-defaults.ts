import { flag, optionalBoolean } from "./fields.js";

const NAME = "organization_defaults";
const MEANS = "of the organization (`/v1/vocabulary`), in addition to the request's own; an extension";

/** A query or form parameter with which a transcription leaves out stored words. */
export const STORED_HOT_WORDS = flag(NAME, true).meta({
  description: `\`false\` leaves out the stored hot words ${MEANS}`,
});

/** The same for speech. */
export const STORED_PRONUNCIATIONS = flag(NAME, true).meta({
  description: `\`false\` leaves out the stored pronunciations ${MEANS}`,
});

/** The same in a JSON body. */
export const STORED_PRONUNCIATIONS_FIELD = optionalBoolean(NAME).meta({
  default: true,
  description: `false leaves out the stored pronunciations ${MEANS}`,
});

/** Whether a request leaves out its organization's stored words; absent if it does not. */
export interface OrganizationDefaults {
  readonly organizationDefaults?: false;
}

/** Returns no member for the default, so that such requests keep their options and fingerprints. */
export function organizationDefaultsOf(fields: {
  readonly [NAME]?: boolean | undefined;
}): OrganizationDefaults {
  return fields[NAME] === false ? { organizationDefaults: false } : {};
}

/** Picks the choice from parsed options. */
export function pickedDefaults({ organizationDefaults }: OrganizationDefaults): OrganizationDefaults {
  return organizationDefaults === false ? { organizationDefaults } : {};
}
