"""The datasets of TrackEval."""

from steelyard.compat.trackeval.datasets.davis import DAVIS
from steelyard.compat.trackeval.datasets.kitti_2d_box import Kitti2DBox
from steelyard.compat.trackeval.datasets.kitti_mots import KittiMOTS
from steelyard.compat.trackeval.datasets.mot_challenge_2d_box import MotChallenge2DBox
from steelyard.compat.trackeval.datasets.mots_challenge import MOTSChallenge
from steelyard.compat.trackeval.datasets.youtube_vis import YouTubeVIS

__all__ = ["DAVIS", "Kitti2DBox", "KittiMOTS", "MOTSChallenge", "MotChallenge2DBox", "YouTubeVIS"]
