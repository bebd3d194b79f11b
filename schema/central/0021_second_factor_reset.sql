-- A reset that also takes the second factor takes it when the new password is there, not before:
-- until then the old password alone lets nobody in.
ALTER TABLE invitations ADD COLUMN clears_second_factor boolean NOT NULL DEFAULT false;
